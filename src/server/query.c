/* query.c - a request's query: unescaped once, looked up by name. */
#include <string.h>

#include "base/percent.h"
#include "net/query.h"
#include "server/request.h"

#define PARAMS_LIMIT 1024 /* each word of an exec command is one */

static int add_param(struct server_request *r, struct param ***end, const char *text, size_t len,
                     struct err *err)
{
    const char *equals = memchr(text, '=', len);
    size_t name_len = equals ? (size_t)(equals - text) : len;
    struct param *p = arena_alloc(r->arena, sizeof(*p));

    if (!p)
        return out_of_memory(err);
    p->name = percent_decode_query(r->arena, text, name_len);
    p->value = equals ? percent_decode_query(r->arena, equals + 1, len - name_len - 1) : "";
    if (!p->name || !p->value)
        return err_set(err, ERR_BAD_REQUEST, "the query of the request is malformed");
    **end = p;
    *end = &p->next;
    return 0;
}

int query_parse(struct server_request *r, struct err *err)
{
    struct param **end = &r->params;
    const char *at = r->query ? r->query : "";
    int rc = 0;

    for (int i = 0; *at && rc == 0; i++) {
        size_t len = strcspn(at, "&");

        if (i == PARAMS_LIMIT)
            return err_set(err, ERR_BAD_REQUEST, "the query has more than %d parameters",
                           PARAMS_LIMIT);
        if (len)
            rc = add_param(r, &end, at, len, err);
        at += len + (at[len] == '&');
    }
    return rc;
}

const char *query_get(const struct server_request *r, const char *name)
{
    for (const struct param *p = r->params; p; p = p->next)
        if (strcmp(p->name, name) == 0)
            return p->value;
    return NULL;
}

bool query_is_true(const struct server_request *r, const char *name)
{
    return query_flag(query_get(r, name));
}

int query_int(const struct server_request *r, const char *name, int64_t otherwise, int64_t *ret,
              struct err *err)
{
    return query_count(name, query_get(r, name), otherwise, ret, err);
}

int option_invalid(const struct server_request *r, const char *type, const char *option,
                   const char *problem, struct err *err)
{
    static const char *const names[][2] = {
        {"POST", "Create"}, {"PUT", "Update"}, {"PATCH", "Patch"}, {"DELETE", "Delete"}};
    const char *name = "List";

    for (size_t i = 0; i < ELEMS(names); i++)
        if (strcmp(r->method, names[i][0]) == 0)
            name = names[i][1];
    err_set(err, ERR_INVALID, "%sOptions.meta.k8s.io \"\" is invalid: %s: %s", name, option,
            problem ? problem : "");
    err_cause(err, type, option, 0, "%s", problem ? problem : "");
    return err_errno(ERR_INVALID);
}

int query_dry_run(const struct server_request *r, bool *ret, struct err *err)
{
    const char *value = query_get(r, "dryRun");

    *ret = value && strcmp(value, "All") == 0;
    if (!value || !*value || *ret)
        return 0;
    return option_invalid(
        r, "FieldValueNotSupported", "dryRun",
        arena_printf(r->arena, "Unsupported value: [\"%s\"]: supported values: \"All\"", value),
        err);
}
