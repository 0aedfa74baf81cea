/* body.c - the object in a request's body: parsed, of the right kind, and matching the path. */
#include <string.h>

#include "server/internal.h"

static int check_manager(const struct server_request *r, struct err *err)
{
    const char *manager = query_get(r, "fieldManager");

    if (manager && strlen(manager) > MANAGER_LENGTH_LIMIT)
        return option_invalid(r, "FieldValueTooLong", "fieldManager",
                              "Too long: may not be more than 128 bytes", err);
    for (size_t i = 0; manager && manager[i]; i++)
        if ((unsigned char)manager[i] < ' ' || manager[i] == 0x7f)
            return option_invalid(
                r, "FieldValueInvalid", "fieldManager",
                arena_printf(r->arena, "Invalid value: invalid character U+%04X (at position %zu)",
                             (unsigned char)manager[i], i),
                err);
    return 0;
}

int field_validation(const struct server_request *r, enum field_validation *ret, struct err *err)
{
    static const struct {
        const char *name;
        enum field_validation mode;
    } modes[] = {
        {"Strict", FIELD_VALIDATION_STRICT},
        {"Warn", FIELD_VALIDATION_WARN},
        {"Ignore", FIELD_VALIDATION_IGNORE},
        {"", FIELD_VALIDATION_WARN}, /* also the real server's default */
    };
    const char *asked = query_get(r, "fieldValidation");
    int rc = check_manager(r, err);

    if (rc < 0)
        return rc;
    if (!asked)
        asked = "";
    for (size_t i = 0; i < ELEMS(modes); i++)
        if (strcmp(asked, modes[i].name) == 0) {
            *ret = modes[i].mode;
            return 0;
        }
    return option_invalid(r, "FieldValueNotSupported", "fieldValidation",
                          arena_printf(r->arena,
                                       "Unsupported value: \"%s\": supported values: \"\", "
                                       "\"Ignore\", \"Strict\", \"Warn\"",
                                       asked),
                          err);
}

/* An object for another path is not checked any further. */
static int check_type(struct server_request *r, const struct json *object, struct err *err)
{
    const struct kind *k = r->route.kind;
    const char *wanted = kind_api_version(r->arena, k);
    const char *version = json_get_string(object, "apiVersion", ""),
               *kind = json_get_string(object, "kind", "");

    if (*version && wanted && strcmp(version, wanted) != 0)
        return err_set(
            err, ERR_BAD_REQUEST,
            "the API version in the data (%s) does not match the expected API version (%s)",
            version, wanted);
    if (*kind && !k->custom && strcmp(kind, k->name) != 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "%s in version \"%s\" cannot be handled as a %s: kind must be %s", kind,
                       k->version, k->name, k->name);
    return 0;
}

/* Strict: duplicates are refused. Ignore: they pass silently. */
struct twice {
    struct server_request *request;
    enum field_validation mode;
    const char *said;
};

static void on_twice(void *arg, const char *text)
{
    struct twice *t = arg;

    if (t->mode == FIELD_VALIDATION_WARN)
        request_warn(t->request, text);
    else if (t->mode == FIELD_VALIDATION_STRICT && !t->said)
        t->said = arena_strdup(t->request->arena, text);
}

struct json *body_object(struct server_request *r, struct err *err)
{
    struct twice twice = {.request = r};
    enum field_validation mode;
    struct json *object;

    if (field_validation(r, &mode, err) < 0)
        return NULL;
    twice.mode = mode;
    object = object_parse(r->arena, r->route.kind, r->content_type, r->body, r->body_len, on_twice,
                          &twice, err);
    if (!object || check_type(r, object, err) < 0)
        return NULL;
    if (twice.said) {
        err_set(err, ERR_BAD_REQUEST,
                "%s in version \"%s\" cannot be handled as a %s: strict decoding error: %s",
                r->route.kind->name, r->route.kind->version, r->route.kind->name, twice.said);
        return NULL;
    }
    if (object_decode(r->arena, r->route.kind, object, mode, request_warn, r, err) < 0) {
        if (!r->route.name && *object_name(object))
            r->route.name = object_name(object); /* for the Status' details */
        return NULL;
    }
    return object;
}

int body_matches_path(struct server_request *r, const struct json *object, struct err *err)
{
    const char *name = object_name(object), *ns = object_namespace(object);

    if (r->route.name && *name && strcmp(name, r->route.name) != 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "the name of the object (%s) does not match the name on the URL (%s)", name,
                       r->route.name);
    if (*ns && strcmp(ns, r->route.ns) != 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "the namespace of the provided object does not match the namespace sent on "
                       "the request");
    return 0;
}
