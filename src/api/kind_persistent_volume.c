/* kind_persistent_volume.c - PersistentVolume: kept for manifests that bring their own volumes.
 * Claims here are folders and need none. */
#include "api/columns.h"
#include "api/field_macros.h"

static const char *const reclaim_policies[] = {"Delete", "Recycle", "Retain", NULL};
static const char *const modes[] = {"Block", "Filesystem", NULL};
static const char *const phases[] = {"Available", "Bound", "Failed", "Pending", "Released", NULL};

/* Where it is: any member beside those listed is a kind of storage, kept as it is. */
static const struct field spec_fields[] = {
    F_MAP(FIELD_QUANTITY, "capacity", "How large it is: storage."),
    F_STRS("accessModes", "How it can be mounted."),
    F_STR("persistentVolumeReclaimPolicy", "What becomes of it when its claim goes.",
          ONE_OF(reclaim_policies), DEFAULT("\"Retain\"")),
    F_STR("storageClassName", "Class it belongs to."),
    F_STR("volumeMode", "Filesystem or Block.", ONE_OF(modes), DEFAULT("\"Filesystem\"")),
    F_PLAIN(FIELD_ANY, "claimRef", "The claim it is bound to."),
    F_PLAIN(FIELD_ANY, "nodeAffinity", "Nodes it can be used on."),
    F_STRS("mountOptions", "Options of the mount."),
    F_PLAIN(FIELD_ANY, "hostPath", "A path of the machine."),
    F_PLAIN(FIELD_ANY, "local", "A disk of the machine."),
    F_PLAIN(FIELD_ANY, "nfs", "An NFS share."),
    F_PLAIN(FIELD_ANY, "csi", "A volume of a storage driver."),
    {0}};

static const struct field status_fields[] = {
    F_STR("phase", "Available, Bound, Released and so on.", ONE_OF(phases)),
    F_STR("reason", "One word: why it is in this phase."),
    F_STR("message", "A sentence: why it is in this phase."),
    {0}};

static const struct field fields[] = {
    F_SPEC(spec_fields, .flags = FIELD_REQUIRED | FIELD_KEEP_UNKNOWN),
    F_STATUS(status_fields),
    {0}};

static void set_defaults(struct arena *a, struct json *volume)
{
    struct json *status = json_make_object(a, volume, "status");

    if (!json_get(status, "phase"))
        json_set_string(a, status, "phase", "Available");
}

static struct json *render_claim(struct arena *a, const struct json *volume, int64_t now_ms)
{
    const struct json *claim = json_at(volume, "spec", "claimRef");

    (void)now_ms;
    return claim ? json_new_stringf(a, "%s/%s", json_get_string(claim, "namespace", ""),
                                    json_get_string(claim, "name", ""))
                 : json_new_string(a, "");
}

static struct json *render_modes(struct arena *a, const struct json *volume, int64_t now_ms)
{
    struct buf out = BUF_INIT(1024);
    struct json *cell;

    (void)now_ms;
    json_each (m, json_at(volume, "spec", "accessModes"))
        buf_addf(&out, "%s%s", out.len ? "," : "",
                 json_string_is(m, "ReadWriteOnce")   ? "RWO"
                 : json_string_is(m, "ReadOnlyMany")  ? "ROX"
                 : json_string_is(m, "ReadWriteMany") ? "RWX"
                                                      : "RWOP");
    cell = json_new_string(a, out.len ? out.data : "");
    buf_release(&out);
    return cell;
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Capacity", "string", "Size.", .path = ".spec.capacity.storage"),
    COLUMN("Access Modes", "string", "How.", .render = render_modes),
    COLUMN("Reclaim Policy", "string", "What becomes of it.",
           .path = ".spec.persistentVolumeReclaimPolicy"),
    COLUMN("Status", "string", "Phase.", .path = ".status.phase"),
    COLUMN("Claim", "string", "Its claim.", .render = render_claim),
    COLUMN("StorageClass", "string", "Class.", .path = ".spec.storageClassName"),
    COLUMN("Reason", "string", "Why.", .path = ".status.reason"),
    COLUMN_AGE,
    COLUMN("VolumeMode", "string", "Filesystem or Block.", .priority = 1,
           .path = ".spec.volumeMode"),
    {0}};

const struct kind kind_persistent_volume = {
    KIND_NAMES("", "v1", "PersistentVolume", "persistentvolumes", "persistentvolume"),
    .short_names = (const char *const[]){"pv", NULL},
    .has_status = true,
    .doc = "PersistentVolume is storage that is there before anybody claims it.",
    .fields = fields,
    .columns = columns,
    .set_defaults = set_defaults};
