/* kind_persistent_volume.c - PersistentVolume: accepted for manifests that bring their own volumes.
 * Claims here are folders and do not need one. */
#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/pod_parts.h"
#include "api/metadata.h"

static const char *const reclaim_policies[] = {"Delete", "Recycle", "Retain", NULL};
static const char *const modes[] = {"Block", "Filesystem", NULL};
static const char *const phases[] = {"Available", "Bound", "Failed", "Pending", "Released", NULL};

#define SOURCE(number, n, f, d) F_OBJ(n, f, d, P_IN(2, number))

static const struct field node_affinity_fields[] = {
    F_OBJ("required", node_selector_fields, "Required properties of a node.", P(1)), {0}};

/* Any member beyond those listed is a storage type, kept as it is. */
static const struct field spec_fields[] = {
    F_MAP(FIELD_QUANTITY, "capacity", "Its size: storage.", P(1)),
    F_STRS("accessModes", "How it can be mounted.", P(3)),
    F_STR("persistentVolumeReclaimPolicy", "What happens to it when its claim is deleted.", P(5),
          ONE_OF(reclaim_policies), DEFAULT("\"Retain\"")),
    F_STR("storageClassName", "Class it belongs to.", P(6)),
    F_STR("volumeMode", "Filesystem or Block.", PZ(8), ONE_OF(modes), DEFAULT("\"Filesystem\"")),
    F_STR("volumeAttributesClassName", "Class of its attributes.", PZ(10)),
    F_OBJ("claimRef", object_reference_fields, "The claim it is bound to.", P(4)),
    F_OBJ("nodeAffinity", node_affinity_fields, "Nodes it can be used on.", P(9)),
    F_STRS("mountOptions", "Options of the mount.", P(7)),
    SOURCE(3, "hostPath", host_path_fields, "A path of the machine."),
    SOURCE(20, "local", cluster_local_fields, "A disk of the machine."),
    SOURCE(5, "nfs", nfs_fields, "An NFS share."),
    SOURCE(22, "csi", cluster_csi_fields, "A volume of a storage driver."),
    SOURCE(1, "gcePersistentDisk", gce_fields, "A GCE disk."),
    SOURCE(2, "awsElasticBlockStore", aws_fields, "An AWS disk."),
    SOURCE(4, "glusterfs", cluster_gluster_fields, "A Gluster volume."),
    SOURCE(6, "rbd", cluster_rbd_fields, "A Ceph block device."),
    SOURCE(7, "iscsi", cluster_iscsi_fields, "An iSCSI disk."),
    SOURCE(8, "cinder", cluster_cinder_fields, "An OpenStack volume."),
    SOURCE(9, "cephfs", cluster_ceph_fields, "A Ceph file system."),
    SOURCE(10, "fc", fc_fields, "A Fibre Channel disk."),
    SOURCE(11, "flocker", flocker_fields, "A Flocker volume."),
    SOURCE(12, "flexVolume", cluster_flex_fields, "A volume of a plugin."),
    SOURCE(13, "azureFile", cluster_azure_file_fields, "An Azure file share."),
    SOURCE(14, "vsphereVolume", vsphere_fields, "A vSphere disk."),
    SOURCE(15, "quobyte", quobyte_fields, "A Quobyte volume."),
    SOURCE(16, "azureDisk", azure_disk_fields, "An Azure disk."),
    SOURCE(17, "photonPersistentDisk", photon_fields, "A Photon disk."),
    SOURCE(18, "portworxVolume", portworx_fields, "A Portworx volume."),
    SOURCE(19, "scaleIO", cluster_scale_io_fields, "A ScaleIO volume."),
    SOURCE(21, "storageos", cluster_storage_os_fields, "A StorageOS volume."),
    {0}};

static const struct field status_fields[] = {
    F_STR("phase", "Available, Bound, Released and so on.", P(1), ONE_OF(phases)),
    F_STR("reason", "CamelCase reason for the phase.", P(3)),
    F_STR("message", "Message about the phase.", P(2)),
    F_TIME("lastPhaseTransitionTime", "When the phase last changed.", P(4)),
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
    COLUMN("Reclaim Policy", "string", "Reclaim policy.",
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
    .doc = "PersistentVolume is storage that exists before it is claimed.",
    .fields = fields,
    .columns = columns,
    .set_defaults = set_defaults};
