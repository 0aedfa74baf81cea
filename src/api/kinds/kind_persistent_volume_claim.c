/* kind_persistent_volume_claim.c - PersistentVolumeClaim: a folder, on a single machine. */

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/pod_fields.h"
#include "api/kinds/pod_parts.h"
#include "api/object.h"
#include "api/problem.h"

static const char *const phases[] = {"Pending", "Bound", "Lost", NULL};
static const char *const modes[] = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany",
                                    "ReadWriteOncePod", NULL};
static const char *const volume_modes[] = {"Filesystem", "Block", NULL};

#define ONE_FOLDER "a claim is its own folder on this machine"

static const struct field source_fields[] = {F_STR("apiGroup", "Its API group.", PZ(1)),
                                             F_STR("kind", "Its kind.", PZ(2), REQUIRED),
                                             F_STR("name", "Its name.", PZ(3), REQUIRED),
                                             F_STR("namespace", "Its namespace.", PZ(4)),
                                             {0}};

const struct field claim_spec_fields[] = {
    F_STRS("accessModes", "How the volume may be mounted.", P(1),
           .flags = FIELD_REQUIRED | FIELD_NON_EMPTY | FIELD_IMMUTABLE, ONE_OF(modes)),
    F_OBJ("resources", resource_fields, "requests.storage is the requested size.", P(2), REQUIRED),
    F_STR("storageClassName", "Class of the storage; the cluster's default if absent.", PZ(5),
          IGNORED(ONE_FOLDER)),
    F_STR("volumeName", "The volume bound to the claim.", P(3)),
    F_STR("volumeMode", "Filesystem or Block.", PZ(6), ONE_OF(volume_modes),
          DEFAULT("\"Filesystem\"")),
    F_STR("volumeAttributesClassName", "Class of the volume's attributes.", PZ(9),
          IGNORED(ONE_FOLDER)),
    F_OBJ("selector", label_selector_fields, "Labels of suitable volumes.", P(4),
          IGNORED(ONE_FOLDER)),
    F_OBJ("dataSource", source_fields, "Initial contents of the volume.", P(7),
          IGNORED("it starts empty")),
    F_OBJ("dataSourceRef", source_fields, "Initial contents of the volume.", P(8),
          IGNORED("it starts empty")),
    {0}};

static const struct field modify_fields[] = {
    F_STR("targetVolumeAttributesClassName", "The requested class.", P(1)),
    F_STR("status", "Its progress.", PZ(2), REQUIRED),
    {0}};

static const struct field status_fields[] = {
    F_MAP(FIELD_QUANTITY, "allocatedResources", "Resources allocated for it.", P(5)),
    F_STR_MAP("allocatedResourceStatuses", "Progress of a resize.", P(7)),
    F_STR("currentVolumeAttributesClassName", "The current class.", PZ(8)),
    F_OBJ("modifyVolumeStatus", modify_fields, "Progress of a change of class.", P(9)),
    F_STR("phase", "Pending, Bound or Lost.", P(1), ONE_OF(phases)),
    F_STRS("accessModes", "How the volume can be mounted.", P(2)),
    F_MAP(FIELD_QUANTITY, "capacity", "Capacity of the volume.", P(3)),
    F_CONDITIONS(pod_condition_fields, "Conditions of the volume.", P(4), MERGED_BY("type")),
    {0}};

static const struct field fields[] = {
    F_SPEC(claim_spec_fields, REQUIRED), F_STATUS(status_fields), {0}};

static void set_defaults(struct arena *a, struct json *claim)
{
    struct json *status = json_make_object(a, claim, "status");

    if (!json_get(status, "phase"))
        json_set_string(a, status, "phase", "Pending");
}

static void validate(const struct json *claim, const struct json *old, struct err *err)
{
    const struct json *resources = json_at(claim, "spec", "resources");
    const struct field_path *at = PATH_MEMBER(PATH_MEMBER(NULL, "spec"), "resources");

    (void)old;
    if (resources && !json_at(resources, "requests", "storage"))
        problem_required(err, PATH_KEY(PATH_MEMBER(at, "requests"), "storage"), resources->line,
                         NULL);
}

/* Once bound, volumeName is set by the server. */
static void warn(const struct json *claim, void (*say)(void *arg, const char *text), void *arg)
{
    if (json_string_is(json_at(claim, "status", "phase"), "Pending") &&
        *json_string(json_at(claim, "spec", "volumeName"), ""))
        say(arg, "spec.volumeName has no effect here: " ONE_FOLDER);
}

static struct json *render_status(struct arena *a, const struct json *claim, int64_t now_ms)
{
    (void)now_ms;
    return json_new_string(a, object_is_deleting(claim)
                                  ? "Terminating"
                                  : json_string(json_at(claim, "status", "phase"), ""));
}

static bool is_bound(const struct json *claim)
{
    return *json_string(json_at(claim, "spec", "volumeName"), "");
}

static struct json *text_or_empty(struct arena *a, const struct json *v)
{
    return json_new_string(a, json_string(v, ""));
}

static struct json *render_volume(struct arena *a, const struct json *claim, int64_t now_ms)
{
    (void)now_ms;
    return text_or_empty(a, json_at(claim, "spec", "volumeName"));
}

static struct json *render_capacity(struct arena *a, const struct json *claim, int64_t now_ms)
{
    (void)now_ms;
    return text_or_empty(a,
                         is_bound(claim) ? json_at(claim, "status", "capacity", "storage") : NULL);
}

static struct json *render_modes(struct arena *a, const struct json *claim, int64_t now_ms)
{
    static const char *const letters[] = {"RWO", "ROX", "RWX", "RWOP"};
    struct buf out = BUF_INIT(256);
    struct json *cell;

    (void)now_ms;
    json_each (mode, is_bound(claim) ? json_at(claim, "status", "accessModes") : NULL)
        for (size_t i = 0; modes[i]; i++)
            if (json_string_is(mode, modes[i]))
                buf_addf(&out, "%s%s", out.len ? "," : "", letters[i]);
    cell = json_new_string(a, out.data ? out.data : "");
    buf_release(&out);
    return cell;
}

static struct json *render_class(struct arena *a, const struct json *claim, int64_t now_ms)
{
    (void)now_ms;
    return text_or_empty(a, json_at(claim, "spec", "storageClassName"));
}

static struct json *render_attributes(struct arena *a, const struct json *claim, int64_t now_ms)
{
    struct json *cell = column_string(a, json_at(claim, "spec", "volumeAttributesClassName"));

    (void)now_ms;
    return cell ? cell : json_new_string(a, "<unset>");
}

static struct json *render_volume_mode(struct arena *a, const struct json *claim, int64_t now_ms)
{
    struct json *cell = column_string(a, json_at(claim, "spec", "volumeMode"));

    (void)now_ms;
    return cell ? cell : json_new_string(a, "<unset>");
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Status", "string", "Phase.", .render = render_status),
    COLUMN("Volume", "string", "Its volume.", .render = render_volume),
    COLUMN("Capacity", "string", "Its capacity.", .render = render_capacity),
    COLUMN("Access Modes", "string", "How it can be mounted.", .render = render_modes),
    COLUMN("StorageClass", "string", "Class.", .render = render_class),
    COLUMN("VolumeAttributesClass", "string", "Class of the volume's attributes.",
           .render = render_attributes),
    COLUMN_AGE,
    COLUMN("VolumeMode", "string", "Filesystem or Block.", .priority = 1,
           .render = render_volume_mode),
    {0}};

const struct kind kind_persistent_volume_claim = {
    KIND_NAMES("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims",
               "persistentvolumeclaim"),
    .short_names = (const char *const[]){"pvc", NULL},
    .namespaced = true,
    .has_status = true,
    .collected = true,
    .doc = "PersistentVolumeClaim is storage that outlives the pods using it.",
    .fields = fields,
    .columns = columns,
    .validate = validate,
    .warn = warn,
    .set_defaults = set_defaults};
