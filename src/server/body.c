/* body.c - the object in a request's body: parsed, of the right kind, of the place the path names.
 */
#include <string.h>

#include "server/internal.h"

int field_validation(const struct server_request *r, enum field_validation *ret, struct err *err)
{
    static const struct {
        const char *name;
        enum field_validation mode;
    } modes[] = {
        {"Strict", FIELD_VALIDATION_STRICT},
        {"Warn", FIELD_VALIDATION_WARN},
        {"Ignore", FIELD_VALIDATION_IGNORE},
        {"", FIELD_VALIDATION_WARN}, /* the real server's default too */
    };
    const char *asked = query_get(r, "fieldValidation");

    if (!asked)
        asked = "";
    for (size_t i = 0; i < ELEMS(modes); i++)
        if (strcmp(asked, modes[i].name) == 0) {
            *ret = modes[i].mode;
            return 0;
        }
    return err_set(err, ERR_BAD_REQUEST,
                   "fieldValidation: Unsupported value: \"%s\": supported: \"Ignore\", \"Strict\", "
                   "\"Warn\"",
                   asked);
}

struct json *body_object(struct server_request *r, struct err *err)
{
    enum field_validation mode;
    struct json *object;

    if (field_validation(r, &mode, err) < 0)
        return NULL;
    object = object_parse(r->arena, r->content_type, r->body, r->body_len, request_warn, r, err);
    if (!object)
        return NULL;
    if (object_decode(r->arena, r->route.kind, object, mode, request_warn, r, err) < 0) {
        if (!r->route.name && *object_name(object))
            r->route.name = object_name(object); /* for the details of the Status */
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
