/* kind_secret.c - Secret. stringData is write-only: it is moved into data. */
#include "api/columns.h"
#include "api/field_macros.h"
#include "api/rules/data_keys.h"
#include "base/base64.h"

static const struct field fields[] = {
    F_MAP(FIELD_BYTES, "data", "Keys and their values, in base64.", P(2)),
    F_STR_MAP("stringData", "Keys and values as text; merged into data on write, never returned.",
              P(4)),
    F_STR("type", "What the secret is for.", P(3), .flags = FIELD_IMMUTABLE, DEFAULT("\"Opaque\"")),
    F_BOOL("immutable", "Whether the data can no longer change.", PZ(5)),
    {0}};

static void set_defaults(struct arena *a, struct json *secret)
{
    const struct json *text = json_get(secret, "stringData");
    struct json *data;

    if (!text)
        return;
    data = json_make_object(a, secret, "data");
    json_each (m, text) {
        size_t len;
        char *encoded = json_is(m, JSON_STRING) ? base64_encode(a, m->u.text, m->len, &len) : NULL;

        if (encoded)
            json_set(a, data, m->key, json_new_string_len(a, encoded, len));
    }
    json_remove(secret, "stringData");
}

static void validate(const struct json *object, const struct json *old, struct err *err)
{
    static const char *const maps[] = {"data", NULL};

    data_maps_validate(object, old, maps, err);
}

static void warn(const struct json *secret, void (*say)(void *arg, const char *text), void *arg)
{
    if (json_string_is(json_get(secret, "type"), "kubernetes.io/service-account-token") &&
        !json_at(secret, "data", "token"))
        say(arg, "type: such a Secret gets no token here: use `kubectl create token NAME`");
}

static struct json *render_data(struct arena *a, const struct json *object, int64_t now_ms)
{
    (void)now_ms;
    return json_new_int(a, (int64_t)json_len(json_get(object, "data")));
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Type", "string", "What it is for.", .path = ".type"),
    COLUMN("Data", "string", "Number of keys.", .render = render_data),
    COLUMN_AGE,
    {0}};

const struct kind kind_secret = {KIND_NAMES("", "v1", "Secret", "secrets", "secret"),
                                 .namespaced = true,
                                 .collected = true,
                                 .doc = "Secret holds passwords, keys and similar data for pods.",
                                 .fields = fields,
                                 .columns = columns,
                                 .validate = validate,
                                 .warn = warn,
                                 .set_defaults = set_defaults,
                                 .field_selectors = (const char *const[]){"type", NULL}};
