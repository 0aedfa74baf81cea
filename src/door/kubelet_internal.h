/* kubelet_internal.h - shared by the files of the kubelet's endpoints. */
#ifndef MUSTER_DOOR_KUBELET_INTERNAL_H
#define MUSTER_DOOR_KUBELET_INTERNAL_H

#include "base/sha256.h"
#include "door/kubelet.h"
#include "net/httpd.h"
#include "net/upgrade.h"

#define WORDS_LIMIT 4u
#define KNOWN_RIGHTS 64u
#define KUBELET_ANSWER_LIMIT_BYTES (64u * 1024u * 1024u)

struct visit;
enum endpoint_use { USE_ANSWER, USE_EXEC, USE_ATTACH, USE_FORWARD };

struct endpoint {
    const char *name;
    size_t words_least, words_most; /* of the path after the name */
    const char *subresource;        /* of the Node, for authorization */
    enum endpoint_use use;
    void (*answer)(struct visit *v); /* answers v, which is then gone */
};

/* One request, until it is answered. */
struct visit {
    struct visit *prev, *next;
    struct kubelet *kubelet;
    struct httpd_request *http;
    const struct endpoint *endpoint;
    const char *words[WORDS_LIMIT];
    size_t words_len;
    const char *verb;
    const char *token, *user; /* user: from a certificate, or once the token's is known */
    unsigned char digest[SHA256_BYTES];
    struct upgrade upgrade;
    struct err upgrade_err;
};

/* "The owner of this token may do this". */
struct known_right {
    unsigned char digest[SHA256_BYTES];
    int64_t until_ms;
};

struct kubelet {
    struct kubelet_options o;
    struct node *node;
    struct httpd *httpd;
    struct visit *visits;
    size_t visits_len;
    struct served *served;
    size_t served_len;
    struct known_right known[KNOWN_RIGHTS];
    size_t known_next;
};

/* The answers of /pods, /stats/summary and /metrics/resource (kubelet_stats.c). */
struct json *kubelet_pod_list(struct arena *a, const struct kubelet_pods *pods);
struct json *kubelet_summary(struct arena *a, struct node *n, const struct kubelet_pods *pods);
void kubelet_metrics(struct buf *out, struct node *n, const struct kubelet_pods *pods,
                     int64_t now_ms);

#endif
