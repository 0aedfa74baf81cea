/* server.c - the server's life: its collections, its namespaces, its end. */
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec.h"
#include "server/internal.h"
#include "server/session.h"

static size_t kind_count(void)
{
    size_t n = 0;

    while (kinds[n])
        n++;
    return n;
}

struct store_collection *server_collection(const struct server *s, const struct kind *k)
{
    for (size_t i = 0; kinds[i]; i++)
        if (kinds[i] == k)
            return s->collections[i];
    unreachable();
}

static int open_collections(struct server *s, struct err *err)
{
    for (size_t i = 0; kinds[i]; i++) {
        char name[512];

        (void)snprintf(name, sizeof(name), "%s/%s", kinds[i]->group, kinds[i]->plural);
        s->collections[i] = store_collection(s->store, name);
        if (!s->collections[i])
            return out_of_memory(err);
    }
    return 0;
}

struct server *server_new(const struct server_options *options, struct err *err)
{
    struct server *s = calloc(1, sizeof(*s));

    if (!s) {
        (void)out_of_memory(err);
        return NULL;
    }
    s->loop = options->loop;
    s->store = options->store;
    s->clock = options->clock ? options->clock : loop_clock(options->loop);
    buf_init(&s->scratch, OBJECT_LIMIT_BYTES);
    s->collections = calloc(kind_count() + 1, sizeof(struct store_collection *));
    s->openapi_hashes = calloc(kind_count() + 1, sizeof(*s->openapi_hashes));
    if (!s->collections || !s->openapi_hashes) {
        (void)out_of_memory(err);
        goto fail;
    }
    if (open_collections(s, err) < 0 || namespaces_make(s, err) < 0)
        goto fail;
    namespaces_sweep_soon(s);
    events_expire_soon(s);
    return s;
fail:
    server_free(s);
    return NULL;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    front_close(s);
    sessions_close(s);
    exec_host_free(s->exec_host);
    wait_free_all(s);
    clock_stop(s->clock, s->event_timer);
    clock_stop(s->clock, s->namespace_timer);
    free(s->event_cursor);
    buf_release(&s->scratch);
    free(s->collections);
    free(s->openapi_hashes);
    free(s);
}
