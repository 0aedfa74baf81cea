/* version.c - /version, and that the server is well. */
#include <string.h>

#include "server/internal.h"

#define VERSION_TEXT "v1.32.0+muster"

const char *server_version_text(void)
{
    return VERSION_TEXT;
}

static const struct {
    const char *name, *value;
} version_fields[] = {
    {"major", "1"},
    {"minor", "32"}, /* kubectl's dispatcher chooses the client by it */
    {"gitVersion", VERSION_TEXT},
    {"gitCommit", ""},
    {"gitTreeState", "clean"},
    {"buildDate", "1970-01-01T00:00:00Z"},
    {"goVersion", ""},
    {"compiler", "cc"},
    {"platform", "linux/amd64"},
};

int verb_version(struct server_request *r, struct err *err)
{
    struct json *v = json_new_object(r->arena);

    (void)err;
    for (size_t i = 0; i < ELEMS(version_fields); i++)
        json_set_string(r->arena, v, version_fields[i].name, version_fields[i].value);
    reply_json(r, 200, v);
    return 0;
}

int verb_health(struct server_request *r, struct err *err)
{
    struct buf b = BUF_INIT(64);

    (void)err;
    buf_adds(&b, "ok");
    reply_buf(r, 200, "text/plain; charset=utf-8", &b);
    return 0;
}
