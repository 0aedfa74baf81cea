/* scheduler_config.c - see scheduler_config.h. */
#include "api/scheduler_config.h"

#include <stdio.h>
#include <string.h>

#define TEXT_LIMIT 400

struct reading {
    struct scheduler_config config;
    void (*say)(void *arg, const char *text);
    void *arg;
};

static void complain(const struct reading *r, const struct json *entry, const char *what)
{
    char text[TEXT_LIMIT];

    (void)snprintf(text, sizeof(text), "data[%.100s]: %s", entry->key, what);
    if (r->say)
        r->say(r->arg, text);
}

static bool is_word(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(text, word, len) == 0;
}

/* "allocate,preempt" */
static void read_actions(struct reading *r, const struct json *entry)
{
    bool allocates = false;
    const char *text = json_string(entry, "");

    r->config.preempts = false;
    while (*text) {
        size_t len = strcspn(text, ", \t\n");

        if (is_word(text, len, "allocate"))
            allocates = true;
        else if (is_word(text, len, "preempt"))
            r->config.preempts = true;
        else if (len > 0)
            complain(r, entry, "only the actions allocate and preempt are supported");
        text += len + (text[len] != '\0');
    }
    if (!allocates)
        complain(r, entry, "allocate cannot be left out: pods are placed anyway");
}

static void read_strategy(struct reading *r, const struct json *entry)
{
    r->config.spreads = json_string_is(entry, "LeastAllocated");
    if (!r->config.spreads && !json_string_is(entry, "MostAllocated"))
        complain(r, entry, "must be MostAllocated or LeastAllocated; MostAllocated is used");
}

static const struct {
    const char *key;
    void (*read)(struct reading *r, const struct json *entry);
} keys[] = {{"actions", read_actions}, {"binpack.strategy", read_strategy}};

static void read_entry(struct reading *r, const struct json *entry)
{
    for (size_t i = 0; i < ELEMS(keys); i++)
        if (strcmp(entry->key, keys[i].key) == 0) {
            keys[i].read(r, entry);
            return;
        }
    complain(r, entry, "has no effect: only actions and binpack.strategy are supported");
}

struct scheduler_config scheduler_config_read(const struct json *map,
                                              void (*say)(void *arg, const char *text), void *arg)
{
    struct reading r = {.config = {.preempts = true}, .say = say, .arg = arg};

    json_each (entry, json_get(map, "data"))
        read_entry(&r, entry);
    return r.config;
}
