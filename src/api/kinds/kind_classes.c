/*
 * kind_classes.c - kinds that charts and clients expect and that have no effect on this machine:
 * StorageClass (storage.k8s.io/v1), RuntimeClass (node.k8s.io/v1) and PodTemplate. They are stored
 * and shown; creating a class yields a warning that nothing acts on it.
 */
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/kinds/batch_fields.h"
#include "api/kinds/pod_parts.h"
#include "api/object.h"

/* --- StorageClass --------------------------------------------------------------------------- */

static const char *const reclaim_policies[] = {"Delete", "Retain", NULL};
static const char *const binding_modes[] = {"Immediate", "WaitForFirstConsumer", NULL};

static const struct field topology_label_fields[] = {
    F_STR("key", "Label of nodes.", PZ(1), REQUIRED), F_STRS("values", "Its values.", P(2)), {0}};

static const struct field topology_fields[] = {
    F_OBJS("matchLabelExpressions", topology_label_fields, "Labels of nodes.", P(1)), {0}};

static const struct field storage_fields[] = {
    F_STR("provisioner", "Program that provisions the volumes.", PZ(2),
          .flags = FIELD_REQUIRED | FIELD_IMMUTABLE),
    F_STR_MAP("parameters", "Parameters of the provisioner.", P(3), .flags = FIELD_IMMUTABLE),
    F_STR("reclaimPolicy", "What happens to a volume when its claim is deleted.", PZ(4),
          ONE_OF(reclaim_policies), DEFAULT("\"Delete\""), .flags = FIELD_IMMUTABLE),
    F_STRS("mountOptions", "Mount options.", P(5)),
    F_BOOL("allowVolumeExpansion", "Whether its volumes can grow.", PZ(6)),
    F_STR("volumeBindingMode", "When a volume is provisioned and bound.", PZ(7),
          ONE_OF(binding_modes), DEFAULT("\"Immediate\""), .flags = FIELD_IMMUTABLE),
    F_OBJS("allowedTopologies", topology_fields, "Nodes on which volumes may be provisioned.",
           P(8)),
    {0}};

static void warn_storage(const struct json *class, void (*say)(void *arg, const char *text),
                         void *arg)
{
    (void)class;
    say(arg, "a StorageClass has no effect here: claims are folders of this machine");
}

static struct json *render_storage_name(struct arena *a, const struct json *class, int64_t now_ms)
{
    const char *mark = object_annotation(class, "storageclass.kubernetes.io/is-default-class");

    (void)now_ms;
    return json_new_stringf(a, "%s%s", object_name(class),
                            mark && mark[0] == 't' ? " (default)" : "");
}

static struct json *render_expansion(struct arena *a, const struct json *class, int64_t now_ms)
{
    (void)now_ms;
    return json_new_bool(a, json_get_bool(class, "allowVolumeExpansion", false));
}

static const struct column storage_columns[] = {
    {.name = "Name",
     .type = "string",
     .format = "name",
     .doc = "Name, and whether it is the default.",
     .path = ".metadata.name",
     .render = render_storage_name},
    COLUMN("Provisioner", "string", "Program that provisions the volumes.", .path = ".provisioner"),
    COLUMN("ReclaimPolicy", "string", "What becomes of them.", .path = ".reclaimPolicy"),
    COLUMN("VolumeBindingMode", "string", "When they are made.", .path = ".volumeBindingMode"),
    COLUMN("AllowVolumeExpansion", "string", "Whether they can grow.", .render = render_expansion),
    COLUMN_AGE,
    {0}};

const struct kind kind_storage_class = {
    KIND_NAMES("storage.k8s.io", "v1", "StorageClass", "storageclasses", "storageclass"),
    .short_names = (const char *const[]){"sc", NULL},
    .doc = "StorageClass describes a class of storage. Without effect on one machine, where claims "
           "are folders.",
    .fields = storage_fields,
    .columns = storage_columns,
    .warn = warn_storage};

/* --- RuntimeClass --------------------------------------------------------------------------- */

static const struct field overhead_fields[] = {
    F_MAP(FIELD_QUANTITY, "podFixed", "What a pod needs beside its containers.", P(1)), {0}};

static const struct field scheduling_fields[] = {
    F_STR_MAP("nodeSelector", "Labels of nodes that support the class.", P(1)),
    F_OBJS("tolerations", toleration_fields, "Taints that pods of the class tolerate.", P(2)),
    {0}};

static const struct field runtime_fields[] = {
    F_STR("handler", "Handler of the container runtime.", PZ(2),
          .flags = FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_DNS_LABEL),
    F_OBJ("overhead", overhead_fields, "Resources a pod needs in addition to its containers.",
          P(3)),
    F_OBJ("scheduling", scheduling_fields, "Nodes that support the class.", P(4)),
    {0}};

static void warn_runtime(const struct json *class, void (*say)(void *arg, const char *text),
                         void *arg)
{
    const char *name = json_string(json_at(class, "metadata", "name"), "");

    if (strcmp(name, "image") != 0 && strcmp(name, "process") != 0)
        say(arg, "this RuntimeClass has no effect here: pods run as image or process");
}

static const struct column runtime_columns[] = {
    COLUMN_NAME,
    COLUMN("Handler", "string", "Handler of the container runtime.", .path = ".handler"),
    COLUMN_AGE,
    {0}};

const struct kind kind_runtime_class = {
    KIND_NAMES("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", "runtimeclass"),
    .doc = "RuntimeClass names what runs containers. Here: image, their image; process, the "
           "machine's own software.",
    .fields = runtime_fields, .columns = runtime_columns, .warn = warn_runtime};

/* --- PodTemplate ---------------------------------------------------------------------------- */

static const struct field template_fields[] = {
    F_OBJ("template", batch_template_fields, "The pod.", P(2)), {0}};

static struct json *each_container(struct arena *a, const struct json *template, const char *key)
{
    struct buf text = BUF_INIT(1u << 16);
    struct json *v;

    json_each (c, json_at(template, "template", "spec", "containers"))
        buf_addf(&text, "%s%s", text.len ? "," : "", json_get_string(c, key, ""));
    v = json_new_string(a, text.failed || !text.data ? "" : text.data);
    buf_release(&text);
    return v;
}

static struct json *render_containers(struct arena *a, const struct json *template, int64_t now_ms)
{
    (void)now_ms;
    return each_container(a, template, "name");
}

static struct json *render_images(struct arena *a, const struct json *template, int64_t now_ms)
{
    (void)now_ms;
    return each_container(a, template, "image");
}

static const struct column template_columns[] = {
    COLUMN_NAME,
    COLUMN("Containers", "string", "Their names.", .render = render_containers),
    COLUMN("Images", "string", "Their images.", .render = render_images),
    COLUMN_AGE,
    {0}};

const struct kind kind_pod_template = {
    KIND_NAMES("", "v1", "PodTemplate", "podtemplates", "podtemplate"),
    .namespaced = true,
    .has_generation = true,
    .doc = "PodTemplate is a template from which other programs create pods.",
    .fields = template_fields,
    .columns = template_columns};
