/*
 * kind.h - a kind, declared once. Its table of fields drives decoding, defaulting, validation,
 * immutability, protobuf, OpenAPI, CRD YAML, explain and printer columns. There is no second list
 * of fields anywhere.
 *
 * To add a field: the kind's table (api/kinds/kind_*.c). To add a kind: a table and one line in
 * api/kinds/kinds.c.
 */
#ifndef MUSTER_API_KIND_H
#define MUSTER_API_KIND_H

#include "base/json.h"

enum field_type {
    FIELD_STRING,
    FIELD_INT32,
    FIELD_INT64,
    FIELD_BOOL,
    FIELD_QUANTITY, /* "500m", "4Gi", or a plain number */
    FIELD_TIME,     /* RFC 3339 */
    FIELD_INT_OR_STRING,
    FIELD_BYTES,  /* base64 */
    FIELD_OBJECT, /* fields[] */
    FIELD_LIST,   /* of item */
    FIELD_MAP,    /* string -> item */
    FIELD_ANY,    /* stored unchanged, whatever it holds */
};

enum field_flag {
    FIELD_REQUIRED = 1u << 0,
    FIELD_IMMUTABLE = 1u << 1,    /* may not be changed, added or removed after creation */
    FIELD_KEEP_UNKNOWN = 1u << 2, /* object: unknown members are kept silently */
    FIELD_NON_EMPTY = 1u << 3,    /* string, list or map with at least one element */
    FIELD_DNS_LABEL = 1u << 4,    /* RFC 1123 label, <= 63 characters */
    FIELD_DNS_NAME = 1u << 5,     /* RFC 1123 subdomain, <= 253 characters */
    FIELD_READ_ONLY = 1u << 6,    /* set by the system */
    FIELD_NO_DEFAULTS = 1u << 7,  /* object: nothing below is defaulted (a template kept as
                                   * written) */
    FIELD_LABELS = 1u << 8,       /* map: keys and values follow the rules for labels */
    FIELD_MERGE_SET = 1u << 9,    /* list of scalars: patches add to it, as to a set */
    FIELD_RETAIN_KEYS = 1u << 10, /* list of objects: patches may list the members an element keeps
                                   * ($retainKeys) */
};

/* The protobuf encoding where the type does not determine it. */
enum field_wire {
    FIELD_WIRE_PLAIN,
    FIELD_WIRE_MICRO,      /* FIELD_TIME: with microseconds */
    FIELD_WIRE_DOUBLE,     /* FIELD_ANY: a number */
    FIELD_WIRE_STRINGS,    /* FIELD_MAP of lists: each {1 strings} */
    FIELD_WIRE_OR_LIST,    /* FIELD_ANY: fields or a list of them: {1 one, 2 list} */
    FIELD_WIRE_OR_BOOL,    /* {1 bool, 2 fields} */
    FIELD_WIRE_OR_STRINGS, /* {1 fields, 2 strings} */
};

#define FIELD_IGNORED_WORDS "No effect here"

struct field {
    const char *name;
    enum field_type type;
    enum field_type item;  /* FIELD_LIST, FIELD_MAP: type of the elements */
    unsigned flags;        /* enum field_flag */
    bool has_min, has_max; /* whether min and max apply */
    bool keep_zero;        /* a zero in protobuf counts as set */
    uint8_t wire;          /* enum field_wire */
    uint16_t number;       /* in protobuf, for Kubernetes' kinds; 0: none */
    uint16_t inside;       /* number of the enclosing message that only protobuf has */
    unsigned max_items;    /* FIELD_LIST: upper limit; 0: none, or KEYED_LIST_LIMIT with list_key */
    const char *doc;       /* English, one or two sentences */
    const struct field *fields; /* FIELD_OBJECT, or the members of an object item; for other maps
                                 * the keys with attributes such as ignored; for FIELD_ANY its
                                 * protobuf members (without: {1 its JSON}); ends with {0} */
    const char
        *default_json; /* NULL: none. Applied when the field is absent and its parent present */
    const char *const *values; /* allowed strings, NULL-terminated; NULL: any */
    int64_t min, max;          /* of a number, or of each number in a list */
    const char *alias; /* an older spelling that is read too, rewritten to name ("enable" for
                        * "enabled"); both with different values is an error */
    const char
        *list_key; /* FIELD_LIST of objects: the member that is unique (strategic merge key) */
    const char *ignored;   /* why a value has no effect, for the warning; NULL: it has one */
    const char *partly;    /* the same warning's words for a value of which only a part is done */
    const char *natural;   /* for ignored: a value, as text, or several separated by |, that ask for
                            * nothing beyond the actual behaviour; NULL: the default. Empty values and
                            * false never warn */
    const char *immutable; /* FIELD_IMMUTABLE: what to do instead of changing it; may be NULL */
    const char *event;     /* the pod event that reports it instead of a warning */
    const char *merge_key; /* like list_key where elements need not be unique: only for patches */
    const char *merge_key_2; /* a second member by which server-side apply tells elements apart */
    /* The next two express validate() for servers that cannot call it. */
    const char *pattern;      /* of the string, or of each element */
    const struct rule *rules; /* of the object, or of each element; ends with {0} */
    const char *schema_name;  /* of the object or the elements, where several tables share it:
                               * OpenAPI defines it once ("io.k8s.api.core.v1.Container") */
};

/* The member by which patches merge this list of objects; NULL: the list is replaced whole. */
static inline const char *field_merge_key(const struct field *f)
{
    return f->merge_key ? f->merge_key : f->list_key;
}

struct column {
    const char *name;   /* "Phase" */
    const char *type;   /* "string", "integer", "date" */
    const char *format; /* "name" or "" */
    const char *doc;
    int priority;     /* 0 always shown, 1 with -o wide */
    const char *path; /* ".status.phase": used in CRD YAML, and for rendering when render is NULL */
    /* For what a path cannot express. A NULL result prints <none>. */
    struct json *(*render)(struct arena *a, const struct json *object, int64_t now_ms);
};

/* A CEL rule of the CRD. */
struct rule {
    const char *rule;            /* on self and oldSelf */
    const char *field, *message; /* field: ".replicaSpecs", relative to the rule's object */
    bool new_only;               /* already stored objects stay valid */
};

/* JSONPaths of a kind's replica counts. */
struct kind_scale {
    const char *spec_path, *status_path, *selector_path;
};

struct kind {
    const char *group; /* "" for core */
    const char *version;
    const char *name; /* "PyTorchTrainingJob" */
    const char *plural;
    const char *singular;
    const char *const *short_names; /* NULL-terminated or NULL */
    const char *const *categories;
    bool namespaced;
    bool has_status; /* status subresource: the main endpoint ignores status, /status everything
                      * else */
    bool custom; /* custom resource: no strategic merge patch, PUT requires resourceVersion, a CRD
                  * exists */
    bool has_generation; /* spec changes are counted; always true of custom kinds */
    bool collected;      /* watched by the garbage collector (may own or be owned) */
    bool refused;        /* no controller here acts on such objects: none can be created
                          * (kind_refused.c) */
    bool free_names;     /* names need only fit into a path, not be DNS names: "system:node" */
    const char *doc;
    const struct field *fields; /* apiVersion, kind and metadata are common and not repeated here */
    const struct column *columns; /* ends with {0}; includes Name */
    const struct json_part
        *row_parts; /* all that columns read, and resourceVersion; NULL: anything */
    /* Checks across fields, which a table cannot express. old is NULL at creation. Adds causes to
     * err. */
    void (*validate)(const struct json *object, const struct json *old, struct err *err);
    const struct rule *rules;       /* of the whole object; ends with {0}; NULL: none */
    const struct kind_scale *scale; /* NULL: it has no /scale */
    /* Defaults a table cannot express. */
    void (*set_defaults)(struct arena *a, struct json *object);
    /* Rewrites older layouts of the kind into the current one, in place: for whole objects, merged
     * objects and patches. Adds causes to err that name the layout. NULL: there is only one. */
    void (*unify)(struct arena *a, struct json *object, void (*say)(void *arg, const char *text),
                  void *arg, struct err *err);
    /* Texts for Warning headers, one call each. */
    void (*warn)(const struct json *object, void (*say)(void *arg, const char *text), void *arg);
    /* Field selectors besides metadata.name and metadata.namespace: NULL-terminated paths,
     * "status.phase". */
    const char *const *field_selectors;

    /* Kinds installed at run time by a CustomResourceDefinition (crd_kind.h) have no fields but: */
    const struct json *schema; /* structural OpenAPI v3 */
    const char *deprecation;   /* warning for its users; NULL: not deprecated */
    bool ending;               /* being uninstalled: nothing new may be created */

    /* Another view of stored objects: another version or group. */
    const struct kind *stored_as; /* the kind that stores them; NULL: itself */
    void (*from_stored)(struct arena *a, const struct kind *k, struct json *object);
    void (*to_stored)(struct arena *a, const struct kind *k, struct json *object);
};

#define KIND_NAMES(of, at, kind, many, one)                                                        \
    .group = (of), .version = (at), .name = (kind), .plural = (many), .singular = (one)

/* Every kind, in order of discovery; ends with NULL. The one list of kinds. */
extern const struct kind *const kinds[];

extern const struct kind kind_namespace, kind_node, kind_pod, kind_service, kind_event,
    kind_config_map, kind_secret, kind_persistent_volume_claim, kind_lease, kind_service_account,
    kind_role, kind_role_binding, kind_cluster_role, kind_cluster_role_binding, kind_crd,
    kind_event_v1, kind_resource_quota, kind_limit_range, kind_persistent_volume,
    kind_pod_disruption_budget, kind_pod_disruption_budget_beta, kind_pytorch_training_job,
    kind_mpi_job, kind_tensorboard, kind_notebook, kind_kubeflow_notebook, kind_queue,
    kind_pod_group, kind_priority_class, kind_notification, kind_admission_policy,
    kind_admission_binding, kind_validating_webhooks, kind_mutating_webhooks,
    kind_certificate_request, kind_storage_class, kind_runtime_class, kind_pod_template;
extern const struct kind kind_replication_controller, kind_deployment, kind_replica_set,
    kind_stateful_set, kind_daemon_set, kind_job, kind_cron_job, kind_cron_job_beta, kind_ingress,
    kind_ingress_beta, kind_machine_access; /* refused */

/* Never stored, and in no list of kinds: kind_messages.c. */
extern const struct kind *const message_kinds[]; /* ends with NULL */
extern const struct kind kind_status, kind_delete_options, kind_eviction, kind_binding, kind_scale,
    kind_token_request, kind_token_review, kind_self_review, kind_access_review,
    kind_subject_review, kind_rules_review, kind_partial;
extern const struct field list_fields[]; /* metadata of a list; ends with {0} */

/* Common to all objects: apiVersion, kind, metadata; ends with {0}. */
extern const struct field object_common_fields[];
/* The field of that name or older spelling; NULL when there is none. fields may be NULL. */
const struct field *field_find(const struct field *fields, const char *name, size_t len);
const struct field *field_find_alias(const struct field *fields, const char *name, size_t len);

const struct kind *kind_by_plural(const char *group, const char *version, const char *plural);
/* By apiVersion ("batch.tensorstack.dev/v1beta1" or "v1") and kind of an object; never a refused
 * kind. */
const struct kind *kind_of_object(const struct json *object);
/* "v1" or "group/version", in the arena. */
/* from_stored and to_stored for versions that differ in nothing but their name. */
void kind_set_version(struct arena *a, const struct kind *k, struct json *object);
void kind_set_stored_version(struct arena *a, const struct kind *k, struct json *object);
const char *kind_api_version(struct arena *a, const struct kind *k);
/* "/api/v1/namespaces/NS/pods[/NAME]" or "/apis/G/V/..."; ns NULL or "" for all namespaces or
 * cluster kinds; name may be NULL. Percent-encodes as needed. */
const char *kind_path(struct arena *a, const struct kind *k, const char *ns, const char *name);

#endif
