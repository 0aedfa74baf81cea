/* fixture.h - a store in a folder of its own, and writes that remember how they ended. */
#ifndef MUSTER_TESTS_STORE_FIXTURE_H
#define MUSTER_TESTS_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loop/loop.h"
#include "store/store.h"

struct fixture {
    char folder[64], path[96];
    struct loop *loop;
    struct store *store;
    struct store_collection *pods, *jobs;
    struct store_options options;
    int waiting; /* writes without an answer */
};

/* One write and its end. */
struct written {
    struct fixture *fixture;
    int64_t revision;
    int order; /* 1 for the first that ended; 0: not yet */
    enum err_reason reason;
    char text[256];
    int64_t store_revision; /* when it ended */
};

static int ended_count;

static inline void fixture_open(struct fixture *f)
{
    auto_err err = ERR_INIT;

    f->loop = loop_new(&err);
    f->store = store_open(f->loop, f->path, &f->options, &err);
    if (!f->store)
        fail_msg("%s", err.text);
    f->pods = store_collection(f->store, "/pods");
    f->jobs = store_collection(f->store, "batch.tensorstack.dev/pytorchtrainingjobs");
    assert_non_null(f->pods);
    assert_non_null(f->jobs);
}

static inline void fixture_close(struct fixture *f)
{
    store_close(f->store);
    loop_free(f->loop);
    f->store = NULL;
    f->loop = NULL;
}

static inline void fixture_reopen(struct fixture *f)
{
    fixture_close(f);
    fixture_open(f);
}

static inline int fixture_set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    strcpy(f->folder, "/tmp/muster-store-XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    snprintf(f->path, sizeof(f->path), "%s/muster.db", f->folder);
    ended_count = 0;
    f->options.ready_bytes = 1; /* every value is shrunk as soon as may be */
    fixture_open(f);
    *state = f;
    return 0;
}

static inline int fixture_tear_down(void **state)
{
    struct fixture *f = *state;
    char command[128];

    fixture_close(f);
    snprintf(command, sizeof(command), "rm -r %s", f->folder);
    free(f);
    return system(command);
}

static inline void ended(void *arg, const struct err *err)
{
    struct written *w = arg;

    assert_int_equal(w->order, 0);
    w->order = ++ended_count;
    w->store_revision = store_revision(w->fixture->store);
    w->fixture->waiting--;
    if (err) {
        w->reason = err->reason;
        snprintf(w->text, sizeof(w->text), "%s", err->text);
    }
}

/* The value is text with the revision behind it, so that each one is different. */
static inline struct blob *value_for(struct fixture *f, const char *text)
{
    char value[512];
    int n = snprintf(value, sizeof(value), "%s@%" PRId64, text, store_next_revision(f->store));

    return blob_new(value, (size_t)n);
}

static inline struct written write_started(struct fixture *f)
{
    f->waiting++;
    return (struct written){.fixture = f, .revision = store_next_revision(f->store)};
}

static inline void put(struct fixture *f, struct store_collection *c, const char *key,
                       const char *text, struct written *w)
{
    struct blob *value = value_for(f, text);

    *w = write_started(f);
    assert_int_equal(store_put(c, key, value, ended, w), 0);
    assert_int_equal(w->order, 0);
    blob_unref(value);
}

static inline void remove_key(struct fixture *f, struct store_collection *c, const char *key,
                              struct written *w)
{
    struct blob *value = value_for(f, "gone");

    *w = write_started(f);
    assert_int_equal(store_delete(c, key, value, ended, w), 0);
    blob_unref(value);
}

static inline void settle_all(struct fixture *f)
{
    while (f->waiting)
        loop_run_once(f->loop);
}

static inline void put_now(struct fixture *f, struct store_collection *c, const char *key,
                           const char *text)
{
    struct written w;

    put(f, c, key, text, &w);
    settle_all(f);
    assert_int_equal(w.reason, ERR_NONE);
}

static inline void remove_now(struct fixture *f, struct store_collection *c, const char *key)
{
    struct written w;

    remove_key(f, c, key, &w);
    settle_all(f);
    assert_int_equal(w.reason, ERR_NONE);
}

static inline void do_nothing(void *arg)
{
    (void)arg;
}

/* One turn that does not wait: what was written in it is with the writer afterwards. */
static inline void turn(struct fixture *f)
{
    assert_int_equal(loop_defer(f->loop, do_nothing, NULL), 0);
    loop_run_once(f->loop);
}

static inline bool is_at(const struct store_item *item, const char *value)
{
    return item && strcmp(item->value->data, value) == 0;
}

#endif
