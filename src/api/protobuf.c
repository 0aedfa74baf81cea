/*
 * protobuf.c - see protobuf.h. One decoder driven by tables of field numbers (the .proto files of
 * Kubernetes). What Go writes for "not set", an empty string or a zero that is no pointer, becomes
 * an absent member; fields that no table knows are skipped, as protobuf wants it.
 */
#include "api/protobuf.h"

#include <string.h>

#include "base/base64.h"
#include "base/timefmt.h"

#define MAGIC "k8s"                /* and its NUL */
#define MAP_LIMIT 4096u            /* entries: each is looked for among the others */
#define SECONDS_LIMIT 253402300799 /* the year 9999 */

enum proto_type {
    PROTO_STRING,
    PROTO_INT,
    PROTO_BOOL,
    PROTO_TIME,
    PROTO_MICRO_TIME,
    PROTO_INT_OR_STRING,
    PROTO_MESSAGE,
    PROTO_STRING_MAP,
    PROTO_BYTES_MAP,    /* base64 in JSON */
    PROTO_QUANTITY_MAP, /* each a message of one string */
};

enum proto_flag {
    PROTO_LIST = 1,
    PROTO_KEEP_ZERO = 2, /* a pointer in Go: what is not set is not sent */
};

struct proto_field {
    unsigned number;
    enum proto_type type;
    unsigned flags;
    const char *name;
    const struct proto_field *fields; /* of a message */
};

struct proto_kind {
    const char *name;
    const struct proto_field *fields;
};

/* --- tables ---------------------------------------------------------------------------- */

static const struct proto_field owner_reference[] = {
    {1, PROTO_STRING, 0, "kind", NULL},
    {3, PROTO_STRING, 0, "name", NULL},
    {4, PROTO_STRING, 0, "uid", NULL},
    {5, PROTO_STRING, 0, "apiVersion", NULL},
    {6, PROTO_BOOL, 0, "controller", NULL},
    {7, PROTO_BOOL, 0, "blockOwnerDeletion", NULL},
    {0},
};

static const struct proto_field object_meta[] = {
    {1, PROTO_STRING, 0, "name", NULL},
    {2, PROTO_STRING, 0, "generateName", NULL},
    {3, PROTO_STRING, 0, "namespace", NULL},
    {5, PROTO_STRING, 0, "uid", NULL},
    {6, PROTO_STRING, 0, "resourceVersion", NULL},
    {7, PROTO_INT, 0, "generation", NULL},
    {8, PROTO_TIME, 0, "creationTimestamp", NULL},
    {9, PROTO_TIME, 0, "deletionTimestamp", NULL},
    {10, PROTO_INT, PROTO_KEEP_ZERO, "deletionGracePeriodSeconds", NULL},
    {11, PROTO_STRING_MAP, 0, "labels", NULL},
    {12, PROTO_STRING_MAP, 0, "annotations", NULL},
    {13, PROTO_MESSAGE, PROTO_LIST, "ownerReferences", owner_reference},
    {14, PROTO_STRING, PROTO_LIST, "finalizers", NULL},
    {0},
};

#define METADATA                                                                                   \
    {                                                                                              \
        1, PROTO_MESSAGE, 0, "metadata", object_meta                                               \
    }

static const struct proto_field namespace_spec[] = {
    {1, PROTO_STRING, PROTO_LIST, "finalizers", NULL}, {0}};

static const struct proto_field namespace_fields[] = {
    METADATA, {2, PROTO_MESSAGE, 0, "spec", namespace_spec}, {0}};

static const struct proto_field config_map[] = {
    METADATA,
    {2, PROTO_STRING_MAP, 0, "data", NULL},
    {3, PROTO_BYTES_MAP, 0, "binaryData", NULL},
    {4, PROTO_BOOL, 0, "immutable", NULL},
    {0},
};

static const struct proto_field secret[] = {
    METADATA,
    {2, PROTO_BYTES_MAP, 0, "data", NULL},
    {3, PROTO_STRING, 0, "type", NULL},
    {4, PROTO_STRING_MAP, 0, "stringData", NULL},
    {5, PROTO_BOOL, 0, "immutable", NULL},
    {0},
};

static const struct proto_field object_reference[] = {
    {1, PROTO_STRING, 0, "kind", NULL},       {2, PROTO_STRING, 0, "namespace", NULL},
    {3, PROTO_STRING, 0, "name", NULL},       {4, PROTO_STRING, 0, "uid", NULL},
    {5, PROTO_STRING, 0, "apiVersion", NULL}, {6, PROTO_STRING, 0, "resourceVersion", NULL},
    {7, PROTO_STRING, 0, "fieldPath", NULL},  {0},
};

static const struct proto_field event_source[] = {
    {1, PROTO_STRING, 0, "component", NULL}, {2, PROTO_STRING, 0, "host", NULL}, {0}};

static const struct proto_field event_series[] = {
    {1, PROTO_INT, 0, "count", NULL}, {2, PROTO_MICRO_TIME, 0, "lastObservedTime", NULL}, {0}};

static const struct proto_field event[] = {
    METADATA,
    {2, PROTO_MESSAGE, 0, "involvedObject", object_reference},
    {3, PROTO_STRING, 0, "reason", NULL},
    {4, PROTO_STRING, 0, "message", NULL},
    {5, PROTO_MESSAGE, 0, "source", event_source},
    {6, PROTO_TIME, 0, "firstTimestamp", NULL},
    {7, PROTO_TIME, 0, "lastTimestamp", NULL},
    {8, PROTO_INT, 0, "count", NULL},
    {9, PROTO_STRING, 0, "type", NULL},
    {10, PROTO_MICRO_TIME, 0, "eventTime", NULL},
    {11, PROTO_MESSAGE, 0, "series", event_series},
    {12, PROTO_STRING, 0, "action", NULL},
    {13, PROTO_MESSAGE, 0, "related", object_reference},
    {14, PROTO_STRING, 0, "reportingComponent", NULL},
    {15, PROTO_STRING, 0, "reportingInstance", NULL},
    {0},
};

static const struct proto_field service_port[] = {
    {1, PROTO_STRING, 0, "name", NULL},
    {2, PROTO_STRING, 0, "protocol", NULL},
    {3, PROTO_INT, 0, "port", NULL},
    {4, PROTO_INT_OR_STRING, 0, "targetPort", NULL},
    {5, PROTO_INT, 0, "nodePort", NULL},
    {6, PROTO_STRING, 0, "appProtocol", NULL},
    {0},
};

static const struct proto_field service_spec[] = {
    {1, PROTO_MESSAGE, PROTO_LIST, "ports", service_port},
    {2, PROTO_STRING_MAP, 0, "selector", NULL},
    {3, PROTO_STRING, 0, "clusterIP", NULL},
    {4, PROTO_STRING, 0, "type", NULL},
    {5, PROTO_STRING, PROTO_LIST, "externalIPs", NULL},
    {7, PROTO_STRING, 0, "sessionAffinity", NULL},
    {8, PROTO_STRING, 0, "loadBalancerIP", NULL},
    {9, PROTO_STRING, PROTO_LIST, "loadBalancerSourceRanges", NULL},
    {10, PROTO_STRING, 0, "externalName", NULL},
    {11, PROTO_STRING, 0, "externalTrafficPolicy", NULL},
    {12, PROTO_INT, 0, "healthCheckNodePort", NULL},
    {13, PROTO_BOOL, 0, "publishNotReadyAddresses", NULL},
    {17, PROTO_STRING, 0, "ipFamilyPolicy", NULL},
    {18, PROTO_STRING, PROTO_LIST, "clusterIPs", NULL},
    {19, PROTO_STRING, PROTO_LIST, "ipFamilies", NULL},
    {20, PROTO_BOOL, 0, "allocateLoadBalancerNodePorts", NULL},
    {21, PROTO_STRING, 0, "loadBalancerClass", NULL},
    {22, PROTO_STRING, 0, "internalTrafficPolicy", NULL},
    {23, PROTO_STRING, 0, "trafficDistribution", NULL},
    {0},
};

static const struct proto_field service[] = {
    METADATA, {2, PROTO_MESSAGE, 0, "spec", service_spec}, {0}};

static const struct proto_field lease_spec[] = {
    {1, PROTO_STRING, 0, "holderIdentity", NULL},
    {2, PROTO_INT, PROTO_KEEP_ZERO, "leaseDurationSeconds", NULL},
    {3, PROTO_MICRO_TIME, 0, "acquireTime", NULL},
    {4, PROTO_MICRO_TIME, 0, "renewTime", NULL},
    {5, PROTO_INT, PROTO_KEEP_ZERO, "leaseTransitions", NULL},
    {6, PROTO_STRING, 0, "strategy", NULL},
    {7, PROTO_STRING, 0, "preferredHolder", NULL},
    {0},
};

static const struct proto_field lease[] = {
    METADATA, {2, PROTO_MESSAGE, 0, "spec", lease_spec}, {0}};

static const struct proto_field preconditions[] = {
    {1, PROTO_STRING, 0, "uid", NULL}, {2, PROTO_STRING, 0, "resourceVersion", NULL}, {0}};

static const struct proto_field delete_options[] = {
    {1, PROTO_INT, PROTO_KEEP_ZERO, "gracePeriodSeconds", NULL},
    {2, PROTO_MESSAGE, 0, "preconditions", preconditions},
    {3, PROTO_BOOL, 0, "orphanDependents", NULL},
    {4, PROTO_STRING, 0, "propagationPolicy", NULL},
    {5, PROTO_STRING, PROTO_LIST, "dryRun", NULL},
    {0},
};

static const struct proto_field eviction[] = {
    METADATA, {2, PROTO_MESSAGE, 0, "deleteOptions", delete_options}, {0}};

static const struct proto_field resource_attributes[] = {
    {1, PROTO_STRING, 0, "namespace", NULL}, {2, PROTO_STRING, 0, "verb", NULL},
    {3, PROTO_STRING, 0, "group", NULL},     {4, PROTO_STRING, 0, "version", NULL},
    {5, PROTO_STRING, 0, "resource", NULL},  {6, PROTO_STRING, 0, "subresource", NULL},
    {7, PROTO_STRING, 0, "name", NULL},      {0},
};

static const struct proto_field path_attributes[] = {
    {1, PROTO_STRING, 0, "path", NULL}, {2, PROTO_STRING, 0, "verb", NULL}, {0}};

static const struct proto_field access_review_spec[] = {
    {1, PROTO_MESSAGE, 0, "resourceAttributes", resource_attributes},
    {2, PROTO_MESSAGE, 0, "nonResourceAttributes", path_attributes},
    {0},
};

static const struct proto_field access_review[] = {
    METADATA, {2, PROTO_MESSAGE, 0, "spec", access_review_spec}, {0}};

static const struct proto_field rules_review_spec[] = {{1, PROTO_STRING, 0, "namespace", NULL},
                                                       {0}};

static const struct proto_field rules_review[] = {
    METADATA, {2, PROTO_MESSAGE, 0, "spec", rules_review_spec}, {0}};

static const struct proto_field local_reference[] = {{1, PROTO_STRING, 0, "name", NULL}, {0}};

static const struct proto_field service_account[] = {
    METADATA,
    {2, PROTO_MESSAGE, PROTO_LIST, "secrets", object_reference},
    {3, PROTO_MESSAGE, PROTO_LIST, "imagePullSecrets", local_reference},
    {4, PROTO_BOOL, 0, "automountServiceAccountToken", NULL},
    {0},
};

static const struct proto_field bound_object[] = {
    {1, PROTO_STRING, 0, "kind", NULL},
    {2, PROTO_STRING, 0, "apiVersion", NULL},
    {3, PROTO_STRING, 0, "name", NULL},
    {4, PROTO_STRING, 0, "uid", NULL},
    {0},
};

static const struct proto_field token_request_spec[] = {
    {1, PROTO_STRING, PROTO_LIST, "audiences", NULL},
    {3, PROTO_MESSAGE, 0, "boundObjectRef", bound_object},
    {4, PROTO_INT, 0, "expirationSeconds", NULL},
    {0},
};

static const struct proto_field token_request[] = {
    METADATA, {2, PROTO_MESSAGE, 0, "spec", token_request_spec}, {0}};

static const struct proto_field policy_rule[] = {
    {1, PROTO_STRING, PROTO_LIST, "verbs", NULL},
    {2, PROTO_STRING, PROTO_LIST, "apiGroups", NULL},
    {3, PROTO_STRING, PROTO_LIST, "resources", NULL},
    {4, PROTO_STRING, PROTO_LIST, "resourceNames", NULL},
    {5, PROTO_STRING, PROTO_LIST, "nonResourceURLs", NULL},
    {0},
};

static const struct proto_field role[] = {
    METADATA, {2, PROTO_MESSAGE, PROTO_LIST, "rules", policy_rule}, {0}};

static const struct proto_field binding_subject[] = {
    {1, PROTO_STRING, 0, "kind", NULL},
    {2, PROTO_STRING, 0, "apiGroup", NULL},
    {3, PROTO_STRING, 0, "name", NULL},
    {4, PROTO_STRING, 0, "namespace", NULL},
    {0},
};

static const struct proto_field role_ref[] = {
    {1, PROTO_STRING, 0, "apiGroup", NULL},
    {2, PROTO_STRING, 0, "kind", NULL},
    {3, PROTO_STRING, 0, "name", NULL},
    {0},
};

static const struct proto_field role_binding[] = {
    METADATA,
    {2, PROTO_MESSAGE, PROTO_LIST, "subjects", binding_subject},
    {3, PROTO_MESSAGE, 0, "roleRef", role_ref},
    {0},
};

static const struct proto_field quota_spec[] = {
    {1, PROTO_QUANTITY_MAP, 0, "hard", NULL}, {2, PROTO_STRING, PROTO_LIST, "scopes", NULL}, {0}};

static const struct proto_field resource_quota[] = {
    METADATA, {2, PROTO_MESSAGE, 0, "spec", quota_spec}, {0}};

static const struct proto_field selector_requirement[] = {
    {1, PROTO_STRING, 0, "key", NULL},
    {2, PROTO_STRING, 0, "operator", NULL},
    {3, PROTO_STRING, PROTO_LIST, "values", NULL},
    {0},
};

static const struct proto_field label_selector[] = {
    {1, PROTO_STRING_MAP, 0, "matchLabels", NULL},
    {2, PROTO_MESSAGE, PROTO_LIST, "matchExpressions", selector_requirement},
    {0},
};

static const struct proto_field budget_spec[] = {
    {1, PROTO_INT_OR_STRING, PROTO_KEEP_ZERO, "minAvailable", NULL},
    {2, PROTO_MESSAGE, 0, "selector", label_selector},
    {3, PROTO_INT_OR_STRING, PROTO_KEEP_ZERO, "maxUnavailable", NULL},
    {4, PROTO_STRING, 0, "unhealthyPodEvictionPolicy", NULL},
    {0},
};

static const struct proto_field budget[] = {
    METADATA, {2, PROTO_MESSAGE, 0, "spec", budget_spec}, {0}};

static const struct proto_field priority_class[] = {
    METADATA,
    {2, PROTO_INT, PROTO_KEEP_ZERO, "value", NULL},
    {3, PROTO_BOOL, 0, "globalDefault", NULL},
    {4, PROTO_STRING, 0, "description", NULL},
    {5, PROTO_STRING, 0, "preemptionPolicy", NULL},
    {0},
};

static const struct proto_field self_review[] = {METADATA, {0}};

static const struct proto_kind proto_kinds[] = {
    {"Namespace", namespace_fields},
    {"ConfigMap", config_map},
    {"Secret", secret},
    {"Event", event},
    {"Service", service},
    {"Lease", lease},
    {"DeleteOptions", delete_options},
    {"Eviction", eviction},
    {"PodDisruptionBudget", budget},
    {"PriorityClass", priority_class},
    {"ServiceAccount", service_account},
    {"ResourceQuota", resource_quota},
    {"TokenRequest", token_request},
    {"Role", role},
    {"ClusterRole", role},
    {"RoleBinding", role_binding},
    {"ClusterRoleBinding", role_binding},
    {"SelfSubjectAccessReview", access_review},
    {"SelfSubjectRulesReview", rules_review},
    {"SelfSubjectReview", self_review},
};

/* Unknown{1 TypeMeta, 2 raw}: what is around every object. */
static const struct proto_field type_meta[] = {
    {1, PROTO_STRING, 0, "apiVersion", NULL}, {2, PROTO_STRING, 0, "kind", NULL}, {0}};

/* --- the wire -------------------------------------------------------------------------- */

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct reader {
    const char *at, *end;
};

struct value {
    unsigned number;
    enum wire_type type;
    uint64_t integer;
    struct reader bytes;
};

static bool read_varint(struct reader *r, uint64_t *ret)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
        unsigned char c = (unsigned char)*r->at++;

        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *ret = v;
            return true;
        }
    }
    return false;
}

static bool take_bytes(struct reader *r, uint64_t len, struct reader *ret)
{
    if (len > (uint64_t)(r->end - r->at))
        return false;
    *ret = (struct reader){.at = r->at, .end = r->at + len};
    r->at += len;
    return true;
}

/* The next field; false when there is none that makes sense. */
static bool read_value(struct reader *r, struct value *v)
{
    uint64_t tag, len;

    *v = (struct value){.number = 0};
    if (!read_varint(r, &tag) || tag >> 3 == 0 || tag >> 3 > INT32_MAX)
        return false;
    v->number = (unsigned)(tag >> 3);
    v->type = (enum wire_type)(tag & 7);
    switch (v->type) {
    case WIRE_VARINT:
        return read_varint(r, &v->integer);
    case WIRE_64:
        return take_bytes(r, 8, &v->bytes);
    case WIRE_32:
        return take_bytes(r, 4, &v->bytes);
    case WIRE_BYTES:
        return read_varint(r, &len) && take_bytes(r, len, &v->bytes);
    }
    return false;
}

/* --- to JSON --------------------------------------------------------------------------- */

static bool decode_message(struct arena *a, struct reader r, const struct proto_field *fields,
                           struct json *into);

static struct json *new_text(struct arena *a, struct reader bytes)
{
    return json_new_string_len(a, bytes.at, (size_t)(bytes.end - bytes.at));
}

static struct json *new_base64(struct arena *a, struct reader bytes)
{
    size_t len;
    const char *text = base64_encode(a, bytes.at, (size_t)(bytes.end - bytes.at), &len);

    return text ? json_new_string(a, text) : NULL;
}

/* {1 key, 2 value} into the map, whose order is that of the bytes. */
static bool decode_entry(struct arena *a, struct reader r, enum proto_type type, struct json *map)
{
    struct reader key = {.at = r.at, .end = r.at}, value = key;
    const char *name;
    struct value v;

    while (r.at < r.end) {
        if (!read_value(&r, &v))
            return false;
        if (v.type == WIRE_BYTES && v.number == 1)
            key = v.bytes;
        if (v.type == WIRE_BYTES && v.number == 2)
            value = v.bytes;
    }
    if (memchr(key.at, '\0', (size_t)(key.end - key.at)) || json_len(map) >= MAP_LIMIT)
        return false;
    if (type == PROTO_QUANTITY_MAP && value.at < value.end) {
        struct reader inner = value;

        if (!read_value(&inner, &v) || v.type != WIRE_BYTES)
            return false;
        value = v.bytes;
    }
    name = arena_strndup(a, key.at, (size_t)(key.end - key.at));
    if (name)
        (void)json_set(a, map, name,
                       type == PROTO_BYTES_MAP ? new_base64(a, value) : new_text(a, value));
    return true;
}

/* Timestamp{1 seconds, 2 nanos}; all zero is "not set". */
static bool decode_time(struct arena *a, struct reader r, const struct proto_field *f,
                        struct json *into)
{
    int64_t seconds = 0, nanos = 0;
    char text[TIME_TEXT_SIZE];
    struct value v;

    while (r.at < r.end) {
        if (!read_value(&r, &v))
            return false;
        if (v.type == WIRE_VARINT && v.number == 1)
            seconds = (int64_t)v.integer;
        if (v.type == WIRE_VARINT && v.number == 2)
            nanos = (int64_t)v.integer;
    }
    if (seconds < 0 || seconds > SECONDS_LIMIT || nanos < 0 || nanos > 999999999)
        return false;
    if (seconds == 0 && nanos == 0)
        return true;
    json_set_string(a, into, f->name,
                    f->type == PROTO_TIME
                        ? time_format(seconds * 1000, text)
                        : time_format_micro(seconds * 1000 + nanos / 1000000, text));
    return true;
}

/* IntOrString{1 type (0: int), 2 int, 3 string}; what says nothing is "not set". */
static bool decode_int_or_string(struct arena *a, struct reader r, const struct proto_field *f,
                                 struct json *into)
{
    struct reader text = {.at = r.at, .end = r.at};
    uint64_t type = 0, number = 0;
    struct value v;

    while (r.at < r.end) {
        if (!read_value(&r, &v))
            return false;
        if (v.type == WIRE_VARINT && v.number == 1)
            type = v.integer;
        if (v.type == WIRE_VARINT && v.number == 2)
            number = v.integer;
        if (v.type == WIRE_BYTES && v.number == 3)
            text = v.bytes;
    }
    if (type == 0 && (number || f->flags & PROTO_KEEP_ZERO))
        json_set_int(a, into, f->name, (int32_t)number);
    if (type == 1 && text.at < text.end)
        (void)json_set(a, into, f->name, new_text(a, text));
    return type <= 1;
}

static bool decode_sub(struct arena *a, struct reader r, const struct proto_field *f,
                       struct json *into)
{
    struct json *sub = f->flags & PROTO_LIST
                           ? json_append(json_make_array(a, into, f->name), json_new_object(a))
                           : json_make_object(a, into, f->name);

    return decode_message(a, r, f->fields, sub);
}

static bool decode_string(struct arena *a, struct reader bytes, const struct proto_field *f,
                          struct json *into)
{
    if (memchr(bytes.at, '\0', (size_t)(bytes.end - bytes.at)))
        return false;
    if (f->flags & PROTO_LIST)
        (void)json_append(json_make_array(a, into, f->name), new_text(a, bytes));
    else if (bytes.at < bytes.end)
        (void)json_set(a, into, f->name, new_text(a, bytes));
    return true;
}

static bool decode_field(struct arena *a, const struct value *v, const struct proto_field *f,
                         struct json *into)
{
    bool is_number = f->type == PROTO_INT || f->type == PROTO_BOOL;

    if (v->type != (is_number ? WIRE_VARINT : WIRE_BYTES))
        return false;
    switch (f->type) {
    case PROTO_STRING:
        return decode_string(a, v->bytes, f, into);
    case PROTO_INT:
        if (v->integer != 0 || f->flags & PROTO_KEEP_ZERO)
            json_set_int(a, into, f->name, (int64_t)v->integer);
        return true;
    case PROTO_BOOL:
        json_set_bool(a, into, f->name, v->integer != 0);
        return true;
    case PROTO_TIME:
    case PROTO_MICRO_TIME:
        return decode_time(a, v->bytes, f, into);
    case PROTO_INT_OR_STRING:
        return decode_int_or_string(a, v->bytes, f, into);
    case PROTO_MESSAGE:
        return decode_sub(a, v->bytes, f, into);
    case PROTO_STRING_MAP:
    case PROTO_BYTES_MAP:
    case PROTO_QUANTITY_MAP:
        return decode_entry(a, v->bytes, f->type, json_make_object(a, into, f->name));
    }
    unreachable();
}

static bool decode_message(struct arena *a, struct reader r, const struct proto_field *fields,
                           struct json *into)
{
    struct value v;

    while (r.at < r.end) {
        if (!read_value(&r, &v))
            return false;
        for (const struct proto_field *f = fields; f->number; f++)
            if (f->number == v.number && !decode_field(a, &v, f, into))
                return false;
    }
    return true;
}

/* --- the object ------------------------------------------------------------------------ */

static const struct proto_field *fields_of(const char *kind)
{
    for (size_t i = 0; i < ELEMS(proto_kinds); i++)
        if (strcmp(proto_kinds[i].name, kind) == 0)
            return proto_kinds[i].fields;
    return NULL;
}

static bool decode_envelope(struct arena *a, struct reader r, struct json *object,
                            struct reader *ret_raw)
{
    struct value v;

    while (r.at < r.end) {
        if (!read_value(&r, &v))
            return false;
        if (v.number == 1 &&
            (v.type != WIRE_BYTES || !decode_message(a, v.bytes, type_meta, object)))
            return false;
        if (v.number == 2 && v.type == WIRE_BYTES)
            *ret_raw = v.bytes;
    }
    return true;
}

struct json *protobuf_parse(struct arena *a, const char *data, size_t len, struct err *err)
{
    struct reader all = {.at = data, .end = data + len}, magic, raw = {.at = data, .end = data};
    struct json *object = json_new_object(a);
    const struct proto_field *fields;
    bool fine = take_bytes(&all, sizeof(MAGIC), &magic) &&
                memcmp(magic.at, MAGIC, sizeof(MAGIC)) == 0 &&
                decode_envelope(a, all, object, &raw);

    fields = fine ? fields_of(json_get_string(object, "kind", "")) : NULL;
    if (fine && !fields) {
        err_set(err, ERR_UNSUPPORTED_MEDIA,
                "%s is not read as protobuf here - accepted media types include: "
                "application/json, application/yaml",
                json_get_string(object, "kind", "this"));
        return NULL;
    }
    fine = fine && decode_message(a, raw, fields, object);
    if (!fine)
        err_set(err, ERR_BAD_REQUEST, "the body of the request is not valid protobuf");
    else if (arena_failed(a))
        err_set(err, ERR_UNAVAILABLE, "out of memory");
    return fine && !arena_failed(a) ? object : NULL;
}
