/*
 * kind.h - a kind, declared once. Its table of fields drives decoding, defaulting, validation,
 * immutability, protobuf, OpenAPI, CRD YAML, explain, printer columns and (later) the console's
 * form. There is no second list of fields anywhere.
 *
 * Where do I add a field: here, in the kind's table (api/kind_*.c). A kind: a table and one line in
 * api/kinds.c.
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
    FIELD_ANY,    /* kept as it is, whatever it holds */
};

enum field_flag {
    FIELD_REQUIRED = 1u << 0,
    FIELD_IMMUTABLE = 1u << 1,    /* may not change after creation; may also not appear or vanish */
    FIELD_KEEP_UNKNOWN = 1u << 2, /* object: members not in fields[] are kept without a word */
    FIELD_NON_EMPTY = 1u << 3,    /* string, list or map with at least one element */
    FIELD_DNS_LABEL = 1u << 4,    /* RFC 1123 label, <= 63 characters */
    FIELD_DNS_NAME = 1u << 5,     /* RFC 1123 subdomain, <= 253 characters */
    FIELD_READ_ONLY = 1u << 6,    /* set by the system */
    FIELD_NO_DEFAULTS = 1u << 7,  /* object: nothing below is defaulted (a template kept whole) */
    FIELD_LABELS = 1u << 8,       /* map: keys and values follow the rules of labels */
    FIELD_MERGE_SET = 1u << 9,    /* list of plain values: patches add to it, as to a set */
    FIELD_RETAIN_KEYS = 1u << 10, /* list of objects: clients say which members an element keeps */
};

/* How protobuf has a value where its type does not say it. */
enum field_wire {
    FIELD_WIRE_PLAIN,
    FIELD_WIRE_MICRO,      /* FIELD_TIME: with its microseconds */
    FIELD_WIRE_DOUBLE,     /* FIELD_ANY: a number */
    FIELD_WIRE_STRINGS,    /* FIELD_MAP of lists: each {1 strings} */
    FIELD_WIRE_OR_LIST,    /* FIELD_ANY of fields, or a list of it: {1 one, 2 list} */
    FIELD_WIRE_OR_BOOL,    /* {1 bool, 2 fields} */
    FIELD_WIRE_OR_STRINGS, /* {1 fields, 2 strings} */
};

#define FIELD_IGNORED_WORDS "Not carried out here"

struct field {
    const char *name;
    enum field_type type;
    enum field_type item;  /* FIELD_LIST, FIELD_MAP: type of the elements */
    unsigned flags;        /* enum field_flag */
    bool has_min, has_max; /* whether min and max count */
    bool keep_zero;        /* what protobuf says is zero was set */
    uint8_t wire;          /* enum field_wire */
    uint16_t number;       /* in protobuf, of Kubernetes' kinds; 0: it has none */
    uint16_t inside;       /* where protobuf has it in a message of this number, and JSON not */
    const char *doc;       /* English, one or two sentences */
    const struct field *fields; /* FIELD_OBJECT, or the members of an object item; of another map
                                   the keys that say more, such as ignored; of FIELD_ANY what
                                   protobuf has there (without: {1 its JSON}); ends with {0} */
    const char
        *default_json; /* NULL: none. Applied when the field is absent and its parent is present */
    const char *const *values; /* allowed strings, NULL-terminated; NULL: any */
    int64_t min, max;          /* numbers, and numbers that are elements of a list */
    unsigned max_items; /* FIELD_LIST: at most so many; 0: any, with list_key KEYED_LIST_LIMIT */
    const char *alias;  /* an older spelling that is read too: both given and different is refused,
                           name is what is written ("enabled" with alias "enable") */
    const char
        *list_key; /* FIELD_LIST of objects: the member that is unique (strategic merge key) */
    const char *ignored; /* why a value here has no effect, for the warning; NULL: it has */
    const char *natural; /* the value, as text, that asks for nothing else than what is done anyhow;
                            NULL: the default. Empty ones and false never do */
    const char *immutable; /* FIELD_IMMUTABLE: what who wants another value does; NULL: not said */
    const char *event;     /* the event of a pod that says so instead */
    const char *merge_key; /* the same where elements need not be unique: only patches use it */
    const char *merge_key_2; /* server-side apply tells elements apart by this member too */
    /* The next two say what validate() refuses, for servers that cannot call it. */
    const char *pattern;      /* of a string, or of each */
    const struct rule *rules; /* of the object, or of each; ends with {0} */
    const char *schema_name;  /* of the object, or of the elements, where several tables share it:
                                 OpenAPI defines it once ("io.k8s.api.core.v1.Container") */
};

/* By which member patches merge elements of this list of objects; NULL: it is replaced whole. */
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
    const char *path; /* ".status.phase": how CRD YAML says it, and how it is rendered when render
                         is NULL */
    /* For what a path cannot say. NULL result prints <none>. */
    struct json *(*render)(struct arena *a, const struct json *object, int64_t now_ms);
};

/* CEL in the CRD. */
struct rule {
    const char *rule;            /* of self and oldSelf */
    const char *field, *message; /* field: ".replicaSpecs", below what has the rule */
    bool new_only;               /* what is stored already stays valid */
};

/* Where a kind keeps its number of replicas: JSONPaths. */
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
    bool has_status; /* status subresource: the main endpoint ignores status, /status ignores the
                        rest */
    bool custom; /* a custom resource: strategic merge patch is refused, PUT needs resourceVersion,
                    a CRD exists */
    bool
        has_generation; /* changes of what is wanted are counted; those of custom ones always are */
    bool collected;     /* watched by the garbage collector (may own or be owned) */
    bool refused;       /* nobody here acts on such objects: none can be made (kind_refused.c) */
    bool free_names;    /* names need not be DNS names, only fit into a path: "system:node" */
    const char *doc;
    const struct field *fields; /* apiVersion, kind and metadata are common and not repeated here */
    const struct column *columns; /* ends with {0}; Name is written out like the others */
    /* What a table cannot say: checks across fields. old is NULL at creation. Adds causes to err.
     */
    void (*validate)(const struct json *object, const struct json *old, struct err *err);
    const struct rule *rules;       /* of the whole object; ends with {0}; NULL: none */
    const struct kind_scale *scale; /* NULL: it has no /scale */
    /* Defaults a table cannot say. */
    void (*set_defaults)(struct arena *a, struct json *object);
    /* Rewrites older layouts of the kind into the one that is written, in place: of whole objects,
     * of what a merge patch made of one, of the members a patch sets. Adds causes to err that name
     * the layout it found. NULL: there is only one. */
    void (*unify)(struct arena *a, struct json *object, void (*say)(void *arg, const char *text),
                  void *arg, struct err *err);
    /* Text for Warning: headers, one call each. */
    void (*warn)(const struct json *object, void (*say)(void *arg, const char *text), void *arg);
    /* Extra field selectors beside metadata.name and metadata.namespace: NULL-terminated paths,
     * "status.phase". */
    const char *const *field_selectors;

    /* Kinds installed at run time by a CustomResourceDefinition (crd_kind.h); no fields then: */
    const struct json *schema; /* structural OpenAPI v3 */
    const char *deprecation;   /* told to who uses it; NULL: it is not deprecated */
    bool ending;               /* being uninstalled: nothing new may be made */

    /* Another face of stored objects: another version, or a group of its own. */
    const struct kind *stored_as; /* whose objects they are; NULL: its own */
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
    kind_admission_binding, kind_storage_class, kind_runtime_class, kind_pod_template;
extern const struct kind kind_replication_controller, kind_deployment, kind_replica_set,
    kind_stateful_set, kind_daemon_set, kind_job, kind_cron_job, kind_cron_job_beta, kind_ingress,
    kind_ingress_beta, kind_machine_access; /* refused */

/* Not stored, and in no list of kinds: kind_messages.c. */
extern const struct kind *const message_kinds[]; /* ends with NULL */
extern const struct kind kind_status, kind_delete_options, kind_eviction, kind_binding, kind_scale,
    kind_token_request, kind_token_review, kind_self_review, kind_access_review,
    kind_subject_review, kind_rules_review, kind_partial;
extern const struct field list_fields[]; /* metadata of a list; ends with {0} */

/* What every object has beside its kind's fields: apiVersion, kind, metadata; ends with {0}. */
extern const struct field object_common_fields[];
/* The field of that name, or of that older spelling; NULL when there is none. fields may be NULL.
 */
const struct field *field_find(const struct field *fields, const char *name, size_t len);
const struct field *field_find_alias(const struct field *fields, const char *name, size_t len);

const struct kind *kind_by_plural(const char *group, const char *version, const char *plural);
/* From apiVersion ("batch.tensorstack.dev/v1beta1" or "v1") and kind of an object; no refused kind,
 * of which there are no objects. */
const struct kind *kind_of_object(const struct json *object);
/* "v1" or "group/version", in the arena. */
/* from_stored and to_stored of versions that differ in nothing else. */
void kind_set_version(struct arena *a, const struct kind *k, struct json *object);
void kind_set_stored_version(struct arena *a, const struct kind *k, struct json *object);
const char *kind_api_version(struct arena *a, const struct kind *k);
/* "/api/v1/namespaces/NS/pods[/NAME]" or "/apis/G/V/..."; ns NULL or "" for all namespaces or
 * cluster kinds; name may be NULL. Escapes what needs it. */
const char *kind_path(struct arena *a, const struct kind *k, const char *ns, const char *name);

#endif
