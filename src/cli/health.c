/* health.c - see health.h. */
#include "cli/health.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "net/httpd.h"
#include "net/metrics.h"

#define ANSWER_LIMIT_BYTES (64u * 1024u)
#define PLAIN "text/plain; charset=utf-8"

struct health {
    struct health_options options;
    struct httpd *httpd;
};

static void answer(struct httpd_request *r, int code, const char *type, struct buf *text)
{
    struct blob *body = blob_from_buf(text);

    httpd_reply(r, body ? code : 503, type, NULL, 0, body);
    blob_unref(body);
}

static void add_metrics(const struct health *h, struct buf *out)
{
    metrics_add(out, "muster_leader", "gauge", "Whether this process holds its lease.",
                h->options.leads(h->options.arg));
    metrics_add(out, "muster_ready", "gauge", "Whether it may hold it.",
                !h->options.trouble(h->options.arg));
    metrics_add_process(out);
}

static void handle(void *arg, struct httpd_request *r)
{
    struct health *h = arg;
    const char *trouble = h->options.trouble(h->options.arg);
    struct buf text = BUF_INIT(ANSWER_LIMIT_BYTES);
    int code = 200;

    if (strcmp(r->path, "/metrics") == 0) {
        add_metrics(h, &text);
        answer(r, code, METRICS_TYPE, &text);
    } else {
        if (strcmp(r->path, "/readyz") == 0 && trouble)
            code = 503;
        else if (strcmp(r->path, "/readyz") != 0 && strcmp(r->path, "/healthz") != 0)
            code = 404;
        buf_addf(&text, "%s\n",
                 code == 503   ? trouble
                 : code == 404 ? "there are /healthz, /readyz and /metrics"
                               : "ok");
        answer(r, code, PLAIN, &text);
    }
    buf_release(&text);
}

static int serve(struct health *h, struct err *err)
{
    h->httpd = httpd_new_self_signed(
        &(struct httpd_options){
            .loop = h->options.loop, .address = h->options.address, .handle = handle, .arg = h},
        err);
    return h->httpd ? 0 : -1;
}

struct health *health_new(const struct health_options *options, struct err *err)
{
    struct health *h = calloc(1, sizeof(*h));

    if (!h) {
        err_set(err, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    h->options = *options;
    if (serve(h, err) == 0) {
        log_info("serving health checks on port %u", httpd_port(h->httpd));
        return h;
    }
    health_free(h);
    return NULL;
}

void health_free(struct health *h)
{
    if (!h)
        return;
    httpd_free(h->httpd);
    free(h);
}
