/* change.c - see change.h. */
#include "store/change.h"

#include <stdlib.h>
#include <string.h>

struct change *change_new(const char *key, size_t key_len, struct blob *value)
{
    struct change *c = calloc(1, sizeof(*c) + key_len + 1);

    if (!c)
        return NULL;
    c->refs = 1;
    c->value = blob_ref(value);
    c->key_len = key_len;
    memcpy(c->key, key, key_len);
    return c;
}

struct change *change_ref(struct change *c)
{
    c->refs++;
    return c;
}

void change_unref(struct change *c)
{
    if (!c || --c->refs > 0)
        return;
    blob_unref(c->value);
    blob_unref(c->previous);
    free(c);
}
