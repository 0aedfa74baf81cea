/*
 * admission.h - one write as policies and webhooks see it: what it matches, and how it is
 * described.
 */
#ifndef MUSTER_SERVER_ADMISSION_H
#define MUSTER_SERVER_ADMISSION_H

#include "api/admission.h"
#include "server/caller.h"
#include "server/internal.h"

struct admission {
    struct server_request *request;
    const char *operation;
    const struct json *object, *old; /* or NULL */
    bool dry_run;
    const struct json *described; /* the variable request */
    const struct json *ns;        /* the Namespace, or NULL */
    int64_t cost_left;
    struct err *err;
    int rc; /* of the policies */
};

struct admission admission_of(struct server_request *r, const char *operation,
                              const struct json *old, const struct json *object, bool dry_run,
                              struct err *err);
/* Sets described and ns, needed by the following. Negative: out of memory. */
int admission_describe(struct admission *a) must_check;

/* The kind in whose version the rules match: the request's, or else another one unless exact; NULL:
 * they do not. */
const struct kind *admission_rules_match(const struct admission *a, const struct json *rules,
                                         bool exact);
/* Whether the namespaceSelector and the objectSelector of this object match. */
bool admission_selects(const struct admission *a, const struct json *by);
/* An absent selector matches everything. */
bool admission_selector_matches(const struct json *selector, const struct json *object);

struct cel_run admission_run(const struct admission *a, const struct json *const *values);
/* 1, 0, or negative: it cannot be determined. */
int admission_test(struct admission *a, const struct admission_scope *scope,
                   const struct json *const *values, const char *text, struct err *err) must_check;

/* {"group": ..., "version": ..., LAST: VALUE} */
void admission_set_kind(struct arena *a, struct json *out, const char *key, const struct kind *k,
                        const char *last, const char *value);

#endif
