/* request_metrics.c - see request_metrics.h. An answer may come after the server is gone: each
 * request holds a reference. */
#include "server/request_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/map.h"

#define SERIES_LIMIT 1024u /* of requests; definitions come and go */
#define TOTAL "apiserver_request_total"
#define DURATION "apiserver_request_duration_seconds"

enum verb {
    VERB_GET,
    VERB_LIST,
    VERB_WATCH,
    VERB_POST,
    VERB_PUT,
    VERB_PATCH,
    VERB_DELETE,
    VERB_DELETECOLLECTION,
    VERB_OTHER,
    VERBS
};
static const char *const verbs[VERBS] = {
    "GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION", "OTHER"};

/* From a read out of memory to a write that waits for webhooks. */
static const double bounds[] = {0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60};

struct durations {
    uint64_t counts[ELEMS(bounds) + 1];
    double sum_s;
};

struct request_metrics {
    unsigned references;
    struct map totals; /* from labels to uint64_t */
    struct durations durations[VERBS];
};

static double now_s(void)
{
    struct timespec t = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct request_metrics *request_metrics_new(void)
{
    struct request_metrics *m = calloc(1, sizeof(*m));

    if (m)
        m->references = 1;
    return m;
}

void request_metrics_unref(struct request_metrics *m)
{
    if (!m || --m->references)
        return;
    map_release(&m->totals, free);
    free(m);
}

void request_metrics_begin(struct request_metrics *m, struct server_request *r)
{
    if (!m || r->metrics) /* it runs again */
        return;
    m->references++;
    r->metrics = m;
    r->begun_s = now_s();
}

static enum verb verb_of(const struct server_request *r)
{
    const bool collection = r->route.kind && !r->route.name;

    for (enum verb v = 0; v < VERB_OTHER; v++) {
        if (strcmp(r->method, verbs[v]) != 0)
            continue;
        if (v == VERB_GET && query_is_true(r, "watch"))
            return VERB_WATCH;
        if (v == VERB_GET && collection)
            return VERB_LIST;
        return v == VERB_DELETE && collection ? VERB_DELETECOLLECTION : v;
    }
    return VERB_OTHER;
}

static void count(struct request_metrics *m, const struct server_request *r, enum verb verb,
                  int code)
{
    const struct kind *k = r->route.kind;
    char labels[512]; /* nothing of a caller's choice: it would need quoting, and have no end */
    int len = snprintf(labels, sizeof(labels),
                       "verb=\"%s\",group=\"%s\",version=\"%s\",resource=\"%s\",code=\"%d\"",
                       verbs[verb], k ? k->group : "", k ? k->version : "", k ? k->plural : "",
                       code);
    uint64_t *n;

    if (len < 0 || (size_t)len >= sizeof(labels))
        return;
    n = map_get(&m->totals, labels, (size_t)len);
    if (!n && m->totals.count < SERIES_LIMIT) {
        n = calloc(1, sizeof(*n));
        if (n && map_put(&m->totals, labels, (size_t)len, n, NULL) < 0) {
            free(n);
            n = NULL;
        }
    }
    if (n)
        ++*n;
}

void request_metrics_end(struct server_request *r, int code, bool goes_on)
{
    struct request_metrics *m = r->metrics;
    enum verb verb;
    double took_s;
    size_t i = 0;

    if (!m)
        return;
    verb = verb_of(r);
    took_s = now_s() - r->begun_s;
    count(m, r, verb, code);
    if (!goes_on) {
        while (i < ELEMS(bounds) && took_s > bounds[i])
            i++;
        m->durations[verb].counts[i]++;
        m->durations[verb].sum_s += took_s;
    }
    r->metrics = NULL;
    request_metrics_unref(m);
}

static bool write_total(void *arg, struct map_node *n)
{
    buf_addf(arg, TOTAL "{%s} %" PRIu64 "\n", n->key, *(const uint64_t *)n->value);
    return true;
}

static void write_durations(const char *verb, const struct durations *d, struct buf *out)
{
    uint64_t all = 0;

    for (size_t i = 0; i <= ELEMS(bounds); i++)
        all += d->counts[i];
    if (!all)
        return;
    all = 0;
    for (size_t i = 0; i < ELEMS(bounds); i++) {
        all += d->counts[i];
        buf_addf(out, DURATION "_bucket{verb=\"%s\",le=\"%g\"} %" PRIu64 "\n", verb, bounds[i],
                 all);
    }
    all += d->counts[ELEMS(bounds)];
    buf_addf(out,
             DURATION "_bucket{verb=\"%s\",le=\"+Inf\"} %" PRIu64 "\n" DURATION
                      "_sum{verb=\"%s\"} %.9g\n" DURATION "_count{verb=\"%s\"} %" PRIu64 "\n",
             verb, all, verb, d->sum_s, verb, all);
}

void request_metrics_write(const struct request_metrics *m, struct buf *out)
{
    buf_adds(out, "# HELP " TOTAL " Requests answered.\n# TYPE " TOTAL " counter\n");
    map_visit_after(&m->totals, NULL, 0, write_total, out);
    buf_adds(out, "# HELP " DURATION " Time to the answer.\n# TYPE " DURATION " histogram\n");
    for (enum verb v = 0; v < VERBS; v++)
        write_durations(verbs[v], &m->durations[v], out);
}
