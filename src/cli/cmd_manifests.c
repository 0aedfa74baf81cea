/*
 * cmd_manifests.c - `muster manifests`: the manifests for running our jobs on a Kubernetes cluster.
 * The definitions are generated from the kinds' tables; the rest is manifests.yaml.
 */
#include <ctype.h>
#include <string.h>

#include "api/object.h"
#include "api/schema.h"
#include "api/yaml.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/output.h"

#define TEXT_LIMIT_BYTES (16u * 1024u * 1024u)
#define DEFAULT_IMAGE "muster:" MUSTER_VERSION
#define BETWEEN_DOCUMENTS "\n---\n"

extern const char manifests_text[];

struct manifests_options {
    const char *ns, *image;
    bool service_monitor;
};

static const struct option_spec options[] = {
    OPTION_OF_TEXT(struct manifests_options, ns, "namespace", "NAME",
                   "namespace of the programs (default: " SYSTEM_NAMESPACE ")"),
    OPTION_OF_TEXT(struct manifests_options, image, "image", "IMAGE",
                   "image with muster as its entrypoint (default: " DEFAULT_IMAGE ")"),
    OPTION_OF_FLAG(struct manifests_options, service_monitor, "service-monitor",
                   "also a ServiceMonitor, for a cluster with the Prometheus operator"),
    {0},
};

struct name {
    const char *name, *value;
};

static const struct program {
    const char *name, *options, *port, *replicas;
} programs[] = {
    {"controller", "--no-scheduler, --namespace, @NAMESPACE@, --health, ", "health", "2"},
    {"scheduler", "--namespace, @NAMESPACE@, --health, ", "health", "2"},
    {"console", "--listen, ", "console", "1"},
};
#define WORKERS 2u /* how many of them, from the first, are workers */

/* --- the definitions --- */

static void add_definitions(struct cli *cli, struct buf *out)
{
    for (const struct kind *const *k = kinds; *k; k++) {
        struct json *crd = (*k)->custom && !(*k)->stored_as ? schema_crd(&cli->arena, *k) : NULL;

        if (!crd)
            continue;
        json_set_string(&cli->arena,
                        json_make_object(&cli->arena, json_get_mut(crd, "metadata"), "labels"),
                        "app.kubernetes.io/part-of", "muster");
        buf_adds(out, "---\n");
        yaml_write(out, crd);
    }
}

/* --- the rest --- */

/* A value may refer to names that come after it. */
static void add_names(struct buf *out, const char *text, size_t len, const struct name *names)
{
    while (len > 0) {
        const struct name *n = names;

        while (n->name && strncmp(text, n->name, strlen(n->name)) != 0)
            n++;
        if (n->name) {
            add_names(out, n->value, strlen(n->value), n + 1);
            text += strlen(n->name);
            len -= strlen(n->name);
        } else {
            buf_add(out, text++, 1);
            len--;
        }
    }
}

/* A shared namespace must not be labelled by us. */
static bool is_of_others(const char *ns)
{
    return strncmp(ns, "kube-", 5) == 0 || strcmp(ns, "default") == 0 ||
           strcmp(ns, QUEUE_NAMESPACE) == 0;
}

static bool is_wanted(const struct manifests_options *o, const char *document, size_t len)
{
    static const char only_with[] = "# --service-monitor\n";
    static const char own[] = "kind: Namespace\nmetadata:\n  name: @NAMESPACE@\n";

    if (strncmp(document, only_with, strlen(only_with)) == 0)
        return o->service_monitor;
    if (memmem(document, len, own, strlen(own)) && is_of_others(o->ns))
        return false;
    return memmem(document, len, "\nkind:", 6);
}

static void add_document(const struct manifests_options *o, struct buf *out, const char *document,
                         size_t len)
{
    size_t count = memmem(document, len, "@PROGRAM@", 9)  ? ELEMS(programs)
                   : memmem(document, len, "@WORKER@", 8) ? WORKERS
                                                          : 1;

    for (size_t i = 0; i < count; i++) {
        const struct name names[] = {{"@OPTIONS@", programs[i].options},
                                     {"@PROGRAM@", programs[i].name},
                                     {"@WORKER@", programs[i].name},
                                     {"@PORT@", programs[i].port},
                                     {"@REPLICAS@", programs[i].replicas},
                                     {"@NAMESPACE@", o->ns},
                                     {"@IMAGE@", o->image},
                                     {0}};

        buf_adds(out, "---\n");
        add_names(out, document, len, names);
        if (out->len && out->data[out->len - 1] != '\n')
            buf_adds(out, "\n");
    }
}

static void add_rest(const struct manifests_options *o, struct buf *out)
{
    for (const char *at = manifests_text; at;) {
        const char *end = strstr(at, BETWEEN_DOCUMENTS);
        size_t len = end ? (size_t)(end - at) : strlen(at);

        if (is_wanted(o, at, len))
            add_document(o, out, at, len);
        at = end ? end + strlen(BETWEEN_DOCUMENTS) : NULL;
    }
}

/* --- the command --- */

static int check(const struct manifests_options *o, struct err *err)
{
    const char *problem = dns_label_problem(o->ns);

    if (problem)
        return err_set(err, ERR_INVALID, "--namespace %s: %s", o->ns, problem);
    for (const char *c = o->image; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-/:@", *c))
            return err_set(err, ERR_INVALID,
                           "--image %s: not the name of an image, such as "
                           "registry.example/muster:1.0",
                           o->image);
    return *o->image ? 0 : err_set(err, ERR_INVALID, "--image takes the name of an image");
}

static enum exit_code run(struct cli *cli, const void *values, const struct args *args)
{
    const struct manifests_options *o = values;
    struct buf out = BUF_INIT(TEXT_LIMIT_BYTES);
    auto_err err = ERR_INIT;

    (void)args;
    if (check(o, &err))
        return command_fail(cli, &err);
    add_definitions(cli, &out);
    add_rest(o, &out);
    if (out.failed || arena_failed(&cli->arena))
        err_set(&err, ERR_INTERNAL, "out of memory");
    else
        output_text(&out);
    buf_release(&out);
    return err_is_set(&err) ? command_fail(cli, &err) : EXIT_OK;
}

const struct command command_manifests = {
    .name = "manifests",
    .args = "",
    .summary = "Print the manifests for running the same jobs on Kubernetes",
    .examples =
        "  muster manifests --image registry.example/muster:1.0 | kubectl apply --server-side "
        "-f -\n",
    .help = "Prints the definitions of the kinds, and controller, scheduler and console with\n"
            "the rights they need. Applying it again upgrades. To remove it, first `kubectl\n"
            "delete pj,mj,tb --all -A --cascade=foreground`, then `kubectl delete -f` of the\n"
            "same text.\n",
    .options = options,
    .options_size = sizeof(struct manifests_options),
    .defaults = &(const struct manifests_options){.ns = SYSTEM_NAMESPACE, .image = DEFAULT_IMAGE},
    .run = run,
};
