/* kind_resource_quota.c - ResourceQuota: limits on a namespace's total. Enforced by the server. */
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/object.h"
#include "api/problem.h"
#include "api/quantity.h"

#define CELL_LIMIT_BYTES 4096u

static const struct field scope_fields[] = {
    F_STR("scopeName", "The scope.", PZ(1), REQUIRED),
    F_STR("operator", "In, NotIn, Exists or DoesNotExist.", PZ(2), REQUIRED),
    F_STRS("values", "Values, for In and NotIn.", P(3)),
    {0}};

static const struct field scope_selector_fields[] = {
    F_OBJS("matchExpressions", scope_fields, "Scopes, all of which must match.", P(1)), {0}};

static const struct field spec_fields[] = {
    F_MAP(FIELD_QUANTITY, "hard",
          "Maximum totals: pods, requests.cpu, limits.memory, requests.nvidia.com/gpu, services, "
          "count/RESOURCE.GROUP and others.",
          P(1)),
    F_STRS("scopes", "Only objects of these scopes count. Stored but not applied.", P(2)),
    F_OBJ("scopeSelector", scope_selector_fields,
          "Only objects of these scopes count. Stored but not applied.", P(3)),
    {0}};

static const struct field status_fields[] = {
    F_MAP(FIELD_QUANTITY, "hard", "Enforced limits.", P(1)),
    F_MAP(FIELD_QUANTITY, "used", "Current usage.", P(2)),
    {0}};

static const struct field fields[] = {
    F_SPEC(spec_fields, DEFAULT("{}")),
    F_OBJ("status", status_fields, "What is.", P(3), .flags = FIELD_READ_ONLY),
    {0}};

static void validate(const struct json *quota, const struct json *old, struct err *err)
{
    const struct field_path *at = PATH_MEMBER(PATH_MEMBER(NULL, "spec"), "hard");

    (void)old;
    json_each (h, json_at(quota, "spec", "hard"))
        if (quantity_json_milli(h, 0) < 0)
            problem_invalid(err, PATH_KEY(at, h->key), h, "must be greater than or equal to 0");
}

static bool is_limit(const char *key)
{
    return strncmp(key, "limits.", strlen("limits.")) == 0;
}

/* "pods: 1/2, requests.cpu: 0/4" */
static struct json *render(struct arena *a, const struct json *quota, bool limits)
{
    struct buf out = BUF_INIT(CELL_LIMIT_BYTES);
    struct json *cell;

    json_each (h, json_at(quota, "spec", "hard"))
        if (is_limit(h->key) == limits)
            buf_addf(&out, "%s%s: %s/%s", out.len ? ", " : "", h->key,
                     json_string(json_at(quota, "status", "used", h->key), "0"),
                     json_string(h, ""));
    cell = json_new_string(a, out.len ? out.data : "");
    buf_release(&out);
    return cell;
}

static struct json *render_requests(struct arena *a, const struct json *quota, int64_t now_ms)
{
    (void)now_ms;
    return render(a, quota, false);
}

static struct json *render_limits(struct arena *a, const struct json *quota, int64_t now_ms)
{
    (void)now_ms;
    return render(a, quota, true);
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Request", "string", "Used out of allowed.", .render = render_requests),
    COLUMN("Limit", "string", "Limits used out of allowed.", .render = render_limits),
    COLUMN_AGE,
    {0}};

const struct kind kind_resource_quota = {
    KIND_NAMES("", "v1", "ResourceQuota", "resourcequotas", "resourcequota"),
    .short_names = (const char *const[]){"quota", NULL},
    .namespaced = true,
    .has_status = true,
    .doc = "ResourceQuota limits the total of a namespace.",
    .fields = fields,
    .columns = columns,
    .validate = validate};
