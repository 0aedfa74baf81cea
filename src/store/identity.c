/* identity.c - see identity.h. */
#include "store/identity.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define TRIED_LIMIT 8

struct tried {
    const char *text[TRIED_LIMIT];
    size_t len;
};

static void try_also(struct tried *t, const char *text)
{
    if (text && t->len < TRIED_LIMIT)
        t->text[t->len++] = text;
}

static const struct json *parse(struct arena *a, const struct row *row)
{
    auto_err err = ERR_INIT;

    return row->value ? json_parse(a, row->value, row->value_len, &err) : NULL;
}

static const char *key_of(struct arena *a, const struct json *value)
{
    const struct json *meta = json_get(value, "metadata");
    const char *ns = json_get_string(meta, "namespace", "");
    const char *name = json_get_string(meta, "name", NULL);

    return !name ? NULL : *ns ? arena_printf(a, "%s/%s", ns, name) : name;
}

/* A plural cannot be known from the kind, but a guess is checked like everything else. */
static void try_kind(struct arena *a, const struct json *value, struct tried *ret)
{
    const char *version = json_get_string(value, "apiVersion", "");
    const char *slash = strchr(version, '/');
    int group_len = slash ? (int)(slash - version) : 0;
    char *name = arena_strdup(a, json_get_string(value, "kind", ""));
    size_t len = name ? strlen(name) : 0;

    if (len == 0)
        return;
    for (size_t i = 0; i < len; i++)
        name[i] = (char)tolower((unsigned char)name[i]);
    try_also(ret, arena_printf(a, "%.*s/%ss", group_len, version, name));
    try_also(ret, arena_printf(a, "%.*s/%ses", group_len, version, name));
    try_also(ret, arena_printf(a, "%.*s/%s", group_len, version, name));
    if (name[len - 1] == 'y')
        try_also(ret, arena_printf(a, "%.*s/%.*sies", group_len, version, (int)len - 1, name));
}

static bool proves(const struct row *row, const char *collection, const char *key, int64_t revision,
                   struct identity *ret)
{
    struct row as_written = *row;

    as_written.revision = revision;
    as_written.collection = collection;
    as_written.collection_len = strlen(collection);
    as_written.key = key;
    as_written.key_len = strlen(key);
    if (!row_is_identified(&as_written))
        return false;
    *ret = (struct identity){collection, key, revision};
    return true;
}

bool identity_find(struct arena *a, const struct row *row, const struct identity *other,
                   struct identity *ret)
{
    const struct json *value = parse(a, row);
    const char *said = json_get_string(json_get(value, "metadata"), "resourceVersion", "");
    int64_t revisions[] = {row->revision, strtoll(said, NULL, 10)};
    struct tried collections = {0}, keys = {0};

    try_also(&collections, row->collection);
    try_also(&keys, row->key);
    try_also(&keys, key_of(a, value));
    if (other) {
        try_also(&collections, other->collection);
        try_also(&keys, other->key);
    }
    try_kind(a, value, &collections);
    for (size_t r = 0; r < ELEMS(revisions); r++)
        for (size_t c = 0; c < collections.len; c++)
            for (size_t k = 0; k < keys.len; k++)
                if (proves(row, collections.text[c], keys.text[k], revisions[r], ret))
                    return true;
    return false;
}

const char *identity_key_in_value(struct arena *a, const struct row *row)
{
    return key_of(a, parse(a, row));
}
