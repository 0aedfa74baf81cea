/* object.h - common to all objects: decoding by the kind's table, defaults, validation,
 * metadata. */
#ifndef MUSTER_API_OBJECT_H
#define MUSTER_API_OBJECT_H

#include "api/kind.h"

/* Names, labels and annotations of the public interface. */
#define LABEL_OWNER_NAME "tensorstack.dev/owner-name"
#define LABEL_OWNER_KIND "tensorstack.dev/owner-kind"
#define LABEL_REPLICA_TYPE "replica-type"
#define LABEL_REPLICA_INDEX "replica-index"
#define LABEL_JOB_ROLE "job-role"
/* On a pod, by its job: how many of its pods run together, so that the machine can be divided among
 * them before all are bound. */
#define ANNOTATION_MIN_MEMBER "scheduler.tensorstack.dev/min-member"
/* On a pod, by the scheduler: indexes of the GPUs it may use, "0,1". On a Node: those that pods may
 * use. */
#define ANNOTATION_GPUS "muster.dev/gpus"
/* On a Node: the GPUs shared by several pods, with the number of shares each. */
#define ANNOTATION_SHARED_GPUS "muster.dev/shared-gpus"
/* On a Node: the CA of its kubeletEndpoint, PEM. */
#define ANNOTATION_NODE_CA "muster.dev/ca"
/* On a Node: the topology of its GPUs (core/gpus.h). */
#define ANNOTATION_GPU_LINKS "muster.dev/gpu-links"
/* On a PersistentVolumeClaim: the folder of this machine that holds its files. */
#define ANNOTATION_CLAIM_PATH "muster.dev/path"
/* On a job or pod: the start folder of containers without workingDir; the default is an empty one.
 * `muster run` sets it to the manifest's folder; a job passes it on to its pods. */
#define ANNOTATION_FOLDER "muster.dev/folder"
/* On a pod, by its job: how many processes its main container starts, when more than one. */
#define ANNOTATION_PROCESSES "muster.dev/processes"
/* On a Namespace: the user its pods run as unless their author may use any user; the server
 * allocates one when first needed. On SYSTEM_NAMESPACE: the last one allocated. */
#define ANNOTATION_UID "muster.dev/uid"
#define ANNOTATION_LAST_UID "muster.dev/last-uid"
#define USER_ID_LIMIT 2147483647 /* as in Kubernetes */
/* By the server, on such pods and their templates: that user's number. */
#define ANNOTATION_RUN_AS "muster.dev/run-as"
#define RUN_AS_NAMESPACE "namespace" /* requests one; replaced by the number at creation */
/* By the server, on a Secret: which pods all who wrote its data may enter, if not any of the
 * namespace. Keys for a login count no further. */
#define ANNOTATION_WRITER_ENTERS "muster.dev/writer-enters"
#define ENTERS_NONE "none"
#define ENTERS_NAMESPACE_USER "namespace-user" /* those that run as the namespace's user */
/* On a job: the folder of its event files. */
#define ANNOTATION_LOG_DIR "muster.dev/log-dir"
/* On a job or TensorBoard: when its controller deletes it, RFC 3339. Removing it cancels the
 * deletion; setting it requires the right to delete. */
#define ANNOTATION_DELETE_AT "muster.dev/delete-at"
/* On a job: a user's note, plain text. Each of its tags is a label with this prefix and no value,
 * so that selectors find it. */
#define ANNOTATION_NOTE "muster.dev/note"
#define NOTE_LIMIT_BYTES 4096
#define TAG_PREFIX "tag.muster.dev/"
/* On a job created as a changed copy of another: that job's UID as a label, its name as an
 * annotation. */
#define LABEL_RERUN_OF "muster.dev/rerun-of"
/* On the jobs of one sweep: its name, and a label for each parameter. */
#define LABEL_SWEEP "muster.dev/sweep"
#define SWEEP_PARAMETER_PREFIX "param.muster.dev/"
/* On a paused job of a sweep: its controller resumes it, and removes this, once fewer jobs of the
 * sweep than this number run; less than 1 counts as 1. */
#define ANNOTATION_SWEEP_TURN "muster.dev/sweep-parallel"
/* Namespace of objects that belong to no user: port leases. */
#define SYSTEM_NAMESPACE "muster-system"
/* Namespace of queues and of the scheduler's configuration; and the queue open to everyone. */
#define QUEUE_NAMESPACE "t9k-system"
#define DEFAULT_QUEUE "default"
/* Namespace of the Leases renewed by nodes that are separate processes. */
#define NODE_LEASES "kube-node-lease"
/* Leader election leases. */
#define LEADER_NAMESPACE "kube-system"
#define LEASE_CONTROLLER "muster-controller"
#define LEASE_SCHEDULER "muster-scheduler"
/* On a pod: its PodGroup and its role there, or the queue of a pod without a group. */
#define LABEL_GROUP_NAME "scheduler.tensorstack.dev/group-name"
#define LABEL_GROUP_ROLE "scheduler.tensorstack.dev/role"
#define LABEL_QUEUE "scheduler.tensorstack.dev/queue"
/* On a pod, by its job: how many of them start together, if no fewer may; the job's
 * activeDeadlineSeconds. What a PodGroup says instead counts only where it promises less. */
#define ANNOTATION_GANG_SIZE "scheduler.tensorstack.dev/gang-size"
#define ANNOTATION_DEADLINE "scheduler.tensorstack.dev/active-deadline-seconds"
/* On a bound pod of a PodGroup: the queue it counts in until it ends. */
#define ANNOTATION_BOUND_QUEUE "scheduler.tensorstack.dev/bound-queue"
/* On a PodGroup that a job creates again: when the job started. */
#define ANNOTATION_STARTED "scheduler.tensorstack.dev/started"
/* On a PodGroup: breaks ties between groups created in the same second. */
#define ANNOTATION_SEQUENCE "scheduler.tensorstack.dev/sequence"

/* --- reading metadata ("" when absent, never NULL) --- */
const char *object_name(const struct json *object);
const char *object_namespace(const struct json *object);
const char *object_uid(const struct json *object);
const char *object_resource_version(const struct json *object);
const struct json *object_labels(const struct json *object);
const char *object_label(const struct json *object, const char *key);      /* NULL when absent */
const char *object_annotation(const struct json *object, const char *key); /* NULL when absent */
bool object_is_deleting(const struct json *object);
/* A time member of v in ms since the epoch, 0 when absent or malformed. */
int64_t object_time(const struct json *v, const char *key);
int64_t object_created_ms(const struct json *object);
/* The ownerReference with controller: true, or NULL. */
const struct json *object_controller(const struct json *object);
bool object_is_controlled_by(const struct json *object, const char *uid);
/* Whether its phase is Succeeded or Failed. */
bool object_has_ended(const struct json *object);
/* Of an object, for json_skim: what it is, who owns it, whether it is being deleted and whether it
 * has ended. */
extern const struct json_part object_head[];
/* It has ended, and nothing waits for that. */
bool object_rests(const struct json *head);
/* status.conditions[] by type, or NULL. */
const struct json *object_condition(const struct json *object, const char *type);
bool object_condition_is(const struct json *object, const char *type);

/* --- driven by the table --- */

enum field_validation { FIELD_VALIDATION_IGNORE, FIELD_VALIDATION_WARN, FIELD_VALIDATION_STRICT };

typedef void warning_fn(void *arg, const char *text);

/* Parses the bytes of a request or file: JSON, YAML, or protobuf (protobuf.h) of kind k (NULL: not
 * allowed). Without a content_type: JSON if it looks like it, else YAML. warn receives duplicate
 * keys and unknown protobuf numbers. Errors name line and column. */
struct json *object_parse(struct arena *a, const struct kind *k, const char *content_type,
                          const char *text, size_t len, warning_fn *warn, void *arg,
                          struct err *err) must_check;
/* Parses a patch: the content type determines its kind and encoding. */
struct json *patch_parse(struct arena *a, const char *content_type, const char *text, size_t len,
                         warning_fn *warn, void *arg, struct err *err) must_check;

/* Checks the structure against the kind's table: types, unknown members (ignored or warned about,
 * and dropped, but kept in jobs; strict: an error). Older spellings and layouts are rewritten, null
 * members dropped, numeric quantities made strings (not in custom resources). Changes object in
 * place. Every problem is one cause with field path and line. 0 or negative errno. */
int object_decode(struct arena *a, const struct kind *k, struct json *object,
                  enum field_validation mode, warning_fn *warn, void *arg,
                  struct err *err) must_check;
/* Validates values like object_validate, for a part of an object: `at` is its path. */
struct field_path;
void object_validate_part(const struct field *fields, const struct json *part,
                          const struct field_path *at, struct err *err);
/* Only renames older spellings. For merge patches, before they are merged: a patch that says
 * "enable" must not leave an object with both. Also works on whole objects. */
void object_rename_aliases(const struct kind *k, struct json *object_or_patch);
/* Fills in what is absent, including a new object's initial status (Pod: Pending, Namespace:
 * Active). Idempotent. In our own custom resources lists stay as written, because `kubectl apply`
 * compares them whole with the file; readers of list items apply the defaults themselves. */
void object_set_defaults(struct arena *a, const struct kind *k, struct json *object);
/* A copy with all defaults, including those in lists. */
struct json *object_whole(struct arena *a, const struct kind *k,
                          const struct json *object) must_check;
/* Validates values: required, allowed, limits, names, cross-field checks, and, with old,
 * immutability. Error text is `PyTorchTrainingJob.batch.tensorstack.dev "x" is invalid: field:
 * problem` with one cause per field. */
int object_validate(const struct kind *k, const struct json *object, const struct json *old,
                    struct err *err) must_check;

/* RFC 1123 checks; NULL when valid, else the problem and what is allowed. */
const char *dns_label_problem(const char *text);
/* RFC 1035: a label that starts with a letter, as required for Services. */
const char *dns_1035_label_problem(const char *text);
const char *dns_name_problem(const char *text);
const char *label_key_problem(const char *text);
const char *label_value_problem(const char *text);

#endif
