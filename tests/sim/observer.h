/* observer.h - what the observer's two files share. */
#ifndef MUSTER_TESTS_SIM_OBSERVER_H
#define MUSTER_TESTS_SIM_OBSERVER_H

#include "base/blob.h"
#include "sim.h"
#include "store/store.h"

struct item {
    int64_t revision;
    struct blob *value;
    struct arena arena;
    struct json *json; /* parsed when first looked at */
};

struct past {
    int64_t revision;
    enum store_event_type type;
    char *key;
};

struct shelf {
    struct map items; /* key -> item */
    struct past *history;
    size_t history_len, history_cap;
};

struct observer {
    struct sim *sim;
    struct map shelves; /* collection -> shelf */
    struct map pods;    /* uid -> pod_record, for ever */
    struct map jobs;    /* uid -> job_record, for ever */
    int64_t revision;
    int64_t last_news_ms; /* of pods or jobs */
};

struct keeping {
    struct observer *observer;
    struct job_record *job;
};

struct counting {
    struct observer *observer;
    struct shelf *shelf;
    size_t count;
};

struct starting {
    struct observer *observer;
    const struct process *process;
    const struct pod_record *record;
    int64_t milli_cpus;
};

struct shelf *observer_shelf(struct observer *o, const char *collection);

#endif
