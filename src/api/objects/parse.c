/* parse.c - the bytes of a request or file to a value, by content type. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/object.h"
#include "api/protobuf.h"
#include "api/yaml.h"

struct duplicates {
    warning_fn *warn;
    void *arg;
};

static void say_duplicate(void *arg, const char *key, unsigned line)
{
    const struct duplicates *d = arg;
    char text[256];

    if (!d->warn)
        return;
    (void)snprintf(text, sizeof(text), "line %u: duplicate key \"%.100s\", the last one wins", line,
                   key);
    d->warn(d->arg, text);
}

static bool looks_like_json(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!strchr(" \t\r\n", text[i]) || !text[i])
            return text[i] == '{' || text[i] == '[';
    return false;
}

static struct json *parse_yaml(struct arena *a, const char *text, size_t len, struct duplicates *d,
                               struct err *err)
{
    struct json *documents = yaml_parse(a, text, len, say_duplicate, d, err);

    if (documents && json_len(documents) == 1)
        return json_first_mut(documents);
    if (documents)
        err_set(err, ERR_BAD_REQUEST, "one object is expected, the text holds %zu",
                json_len(documents));
    return NULL;
}

/* YAML's flow style starts like JSON: if JSON fails, YAML is tried, and JSON's error is
 * reported. */
static struct json *parse_either(struct arena *a, const char *text, size_t len,
                                 struct duplicates *d, struct err *err)
{
    auto_err json_err = ERR_INIT;
    struct json *v = json_parse_reporting(a, text, len, say_duplicate, d, &json_err);

    if (!v)
        v = parse_yaml(a, text, len, d, NULL);
    if (!v)
        err_move(err, &json_err);
    return v;
}

static bool is_type(const char *content_type, const char *name)
{
    size_t len = strcspn(content_type, "; \t");

    return strlen(name) == len && strncasecmp(content_type, name, len) == 0;
}

static bool is_one_of(const char *content_type, const char *const *list, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (is_type(content_type, list[i]))
            return true;
    return false;
}

struct json *object_parse(struct arena *a, const struct kind *k, const char *content_type,
                          const char *text, size_t len, warning_fn *warn, void *arg,
                          struct err *err)
{
    static const char *const yaml_types[] = {"application/yaml", "application/x-yaml", "text/yaml"};
    struct duplicates d = {.warn = warn, .arg = arg};

    if (!content_type || !*content_type)
        return looks_like_json(text, len) ? parse_either(a, text, len, &d, err)
                                          : parse_yaml(a, text, len, &d, err);
    if (is_type(content_type, "application/json"))
        return json_parse_reporting(a, text, len, say_duplicate, &d, err);
    if (is_one_of(content_type, yaml_types, ELEMS(yaml_types)))
        return parse_yaml(a, text, len, &d, err);
    if (is_type(content_type, PROTOBUF_TYPE))
        return protobuf_parse(a, k, text, len, warn, arg, err);
    err_set(err, ERR_UNSUPPORTED_MEDIA,
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, " PROTOBUF_TYPE);
    return NULL;
}

struct json *patch_parse(struct arena *a, const char *content_type, const char *text, size_t len,
                         warning_fn *warn, void *arg, struct err *err)
{
    static const char *const json_types[] = {"application/merge-patch+json",
                                             "application/json-patch+json",
                                             "application/strategic-merge-patch+json"};
    const char *written_as = content_type;

    if (content_type && is_one_of(content_type, json_types, ELEMS(json_types)))
        written_as = "application/json";
    else if (content_type && is_type(content_type, "application/apply-patch+yaml"))
        written_as = "application/yaml";
    return object_parse(a, NULL, written_as, text, len, warn, arg, err);
}
