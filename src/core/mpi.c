/*
 * mpi.c - MPIJob: idle workers, and a launcher whose mpirun starts the program in them. What all
 * jobs share is in job_run.c.
 *
 * Launcher and workers are one gang and are created together, the launcher last; it waits for the
 * workers itself (mpi.h), so that no scheduler ever has to choose between a launcher without
 * workers and workers without a launcher. An attempt is over when the launcher or a worker ends;
 * the launcher's end is the job's.
 */
#include "core/mpi.h"

#include <inttypes.h>
#include <string.h>

#include "api/mpi_rules.h"
#include "api/object.h"
#include "core/replica_pod.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

/* --- roles ------------------------------------------------------------------------------------ */

static struct role role_of(const struct json *spec, const char *type)
{
    const struct json *entry = mpi_replica_spec(spec, type);

    return (struct role){
        .spec = entry,
        .type = type,
        .count = 1,
        .policy = restart_policy_of(
            json_string(json_at(entry, "restartPolicy", "policy"), "OnFailure")),
    };
}

static void assign_roles(struct job_view *v)
{
    v->roles = arena_alloc(v->arena, 2 * sizeof(*v->roles));
    if (!v->roles)
        return;
    v->roles[0] = role_of(v->spec, MPI_LAUNCHER);
    v->roles[0].single = true;
    v->roles[1] = role_of(v->spec, MPI_WORKER);
    v->roles[1].count = min_i64(max_i64(mpi_workers(v->spec), 0), REPLICAS_LIMIT - 1);
    v->roles_len = 2;
}

/* T9k counts restarts by type; an attempt here restarts all, so the highest limit applies. */
static int64_t budget(const struct job_view *v)
{
    int64_t limit = 0;

    json_each (entry, json_get(v->spec, "replicaSpecs"))
        limit = max_i64(limit, json_int(json_at(entry, "restartPolicy", "limit"), 0));
    return limit;
}

/* --- ssh -------------------------------------------------------------------------------------- */

#define SSH_VOLUME "mpi-ssh"
#define SSH_MOUNT_PATH "/root/.ssh" /* the default of ssh.sshAuthMountPath */
#define SSH_COPIES ".own"           /* appended to it: sshd's own files */

/* $1: folder of the keys, $2: sshd, $3: its port. Keys are copied, because mounted files may be
 * readable by others; programs started by ssh get their container's environment and folder. */
static const char worker_script[] =
    "set -e\n"
    "mask=`umask`\n"
    "umask 077\n"
    "d=$1" SSH_COPIES "\n"
    "cat \"$1/" MPI_KEY_PRIVATE "\" >\"$d/key\"\n"
    "cat \"$1/" MPI_KEY_PUBLIC "\" >\"$d/authorized\"\n"
    "{ export -p; echo \"cd '$PWD'\"; echo 'exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"'; } "
    ">\"$d/run\"\n"
    "umask \"$mask\"\n"
    "mkdir -p /run/sshd 2>/dev/null || true\n"
    "exec \"$2\" -D -e -f /dev/null -h \"$d/key\" -p \"$3\" -o ListenAddress=\"$MUSTER_POD_IP\" "
    "-o AuthorizedKeysFile=\"$d/authorized\" -o StrictModes=no -o PasswordAuthentication=no "
    "-o KbdInteractiveAuthentication=no -o PidFile=none -o MaxStartups=1000 "
    "-o ForceCommand=\"/bin/sh $d/run\"\n";

/* The path of sshd in the workers if programs are started by ssh; NULL: they are started through
 * the API. */
static const char *sshd_path(const struct job_view *v)
{
    const char *path = json_string(json_at(v->spec, "ssh", "sshdPath"), "");

    return *path && !v->snapshot->shared_network ? path : NULL;
}

static const char *key_folder(const struct job_view *v)
{
    return json_string(json_at(v->spec, "ssh", "sshAuthMountPath"), SSH_MOUNT_PATH);
}

static const char *secret_name(const struct job_view *v)
{
    return arena_printf(v->arena, "%s-ssh", job_child_name(v->arena, v->job));
}

/* Returns the volume, which has only a name and a mount path. */
static struct json *add_mount(const struct job_view *v, struct json *spec, struct json *container,
                              const char *name, const char *path)
{
    struct arena *a = v->arena;
    struct json *volume = json_append(json_make_array(a, spec, "volumes"), json_new_object(a));
    struct json *mount = json_append(json_make_array(a, container, "volumeMounts"),
                                     json_new_object(a));

    json_set_string(a, volume, "name", name);
    json_set_string(a, mount, "name", name);
    json_set_string(a, mount, "mountPath", path);
    return volume;
}

static void mount_key(const struct job_view *v, struct json *spec, struct json *container)
{
    struct arena *a = v->arena;
    struct json *volume = add_mount(v, spec, container, SSH_VOLUME, key_folder(v));
    struct json *secret = json_make_object(a, volume, "secret");

    json_set_string(a, secret, "secretName", secret_name(v));
    json_set_int(a, secret, "defaultMode", 0444); /* readable for any user of the image */
}

static void set_sshd(const struct job_view *v, struct json *spec, struct json *container)
{
    struct arena *a = v->arena;
    const char *const words[] = {"/bin/sh",
                                 "-c",
                                 worker_script,
                                 "sh",
                                 key_folder(v),
                                 sshd_path(v),
                                 arena_printf(a, "%d", MPI_SSH_PORT)};
    struct json *command = json_new_array(a), *address;
    struct json *copies = add_mount(v, spec, container, SSH_VOLUME "-own",
                                    arena_printf(a, "%s" SSH_COPIES, key_folder(v)));

    for (size_t i = 0; i < ELEMS(words); i++)
        json_append_string(a, command, words[i]);
    json_set(a, container, "command", command);
    json_set_string(a, json_make_object(a, copies, "emptyDir"), "medium", "Memory");
    address = json_append(json_make_array(a, container, "env"), json_new_object(a));
    json_set_string(a, address, "name", "MUSTER_POD_IP");
    json_set_string(a, json_make_object(a, json_make_object(a, address, "valueFrom"), "fieldRef"),
                    "fieldPath", "status.podIP");
}

static struct json *secret_new(const struct job_view *v)
{
    struct json *secret = replica_child_new(v, &kind_secret, secret_name(v));

    json_set_string(v->arena, secret, "type", MPI_SECRET_TYPE);
    return secret;
}

/* --- workers ---------------------------------------------------------------------------------- */

static void set_command(struct arena *a, struct json *container, const char *command)
{
    struct json *words = json_new_array(a);

    json_append_string(a, words, MPI_EXE);
    json_append_string(a, words, command);
    json_set(a, container, "command", words);
}

static struct json *worker_pod_spec(const struct job_view *v, const struct replica *r)
{
    struct json *spec = json_clone(v->arena, json_at(r->role->spec, "template", "spec"));
    struct json *container = main_container_mut(v->rules, spec);
    const struct json *resume;

    if (sshd_path(v))
        mount_key(v, spec, container);
    if (replica_debug(v, r, spec))
        return spec;
    resume = replica_resume(v, r, spec);
    if (resume)
        replica_resume_command(v->arena, resume, container);
    if (json_len(json_get(container, "command")) > 0)
        return spec;
    if (sshd_path(v))
        set_sshd(v, spec, container);
    else
        set_command(v->arena, container, MPI_WORKER_COMMAND);
    return spec;
}

/* --- the launcher ----------------------------------------------------------------------------- */

static const struct json *template_of(const struct json *job_spec, const char *role)
{
    return json_at(mpi_replica_spec(job_spec, role), "template", "spec");
}

static void set_resources(struct arena *a, struct json *container)
{
    struct json *resources = json_make_object(a, container, "resources");
    struct json *requests = json_make_object(a, resources, "requests");
    struct json *limits = json_make_object(a, resources, "limits");

    json_set_string(a, requests, "cpu", "100m");
    json_set_string(a, requests, "memory", "100Mi");
    json_set_string(a, limits, "cpu", "200m");
    json_set_string(a, limits, "memory", "200Mi");
}

static void copy_absent(struct arena *a, struct json *to, const struct json *from,
                        const char *const *keys)
{
    for (; *keys; keys++)
        if (!json_get(to, *keys))
            json_set(a, to, *keys, json_clone(a, json_get(from, *keys)));
}

/* The container of that name; else the only one, unless its own command makes it a sidecar. */
static struct json *find_launcher(struct json *pod_spec)
{
    struct json *first = json_first_mut(json_get_mut(pod_spec, "containers"));

    for (struct json *c = first; c; c = c->next)
        if (json_string_is(json_get(c, "name"), MPI_LAUNCHER))
            return c;
    return first && !first->next && !json_get(first, "command") && !json_get(first, "args") ? first
                                                                                            : NULL;
}

/* mpirun must find the same files in the same places as the program it starts. */
static const char *const from_worker[] = {"image", "imagePullPolicy", "workingDir", NULL};
static const char *const from_worker_too[] = {"env", "envFrom", "volumeMounts", "securityContext",
                                              NULL};
static const char *const from_workers_pod[] = {"runtimeClassName", NULL};

struct json *mpi_launcher_base(struct arena *a, const struct json *job_spec,
                               struct json **ret_container)
{
    const struct json *workers = template_of(job_spec, MPI_WORKER);
    const struct json *own = template_of(job_spec, MPI_LAUNCHER);
    const struct json *worker = mpi_worker_container(workers);
    struct json *spec = json_clone(a, own ? own : workers);
    struct json *container = own ? find_launcher(spec) : NULL;

    if (!own) {
        json_remove(spec, "initContainers");
        json_remove(spec, "containers");
    }
    if (!container) {
        container = json_append(json_make_array(a, spec, "containers"), json_new_object(a));
        json_set_string(a, container, "name", MPI_LAUNCHER);
    }
    copy_absent(a, spec, workers, from_workers_pod);
    copy_absent(a, container, worker, from_worker);
    if (!own)
        copy_absent(a, container, worker, from_worker_too);
    if (!json_get(container, "resources"))
        set_resources(a, container);
    *ret_container = container;
    return spec;
}

static void add_option(struct arena *a, struct json *args, const char *option, const char *value)
{
    json_append(args, json_new_stringf(a, "%s%s", option, value));
}

static void add_number(struct arena *a, struct json *args, const char *option, int64_t value)
{
    json_append(args, json_new_stringf(a, "%s%" PRId64, option, value));
}

static void add_program(const struct job_view *v, struct json *args, const struct json *resume)
{
    struct arena *a = v->arena;
    bool resumed = json_len(json_get(resume, "command")) + json_len(json_get(resume, "args")) > 0;

    json_append_string(a, args, "--");
    if (!resumed)
        json_each (word, json_at(v->spec, "mpiConfig", "script"))
            json_append(args, json_clone(a, word));
    json_each (word, json_get(resume, "command"))
        json_append(args, json_clone(a, word));
    json_each (word, json_get(resume, "args"))
        json_append(args, json_clone(a, word));
}

static struct json *launch_args(const struct job_view *v, const struct json *resume)
{
    const struct json *config = json_get(v->spec, "mpiConfig");
    const char *home = json_get_string(config, "home", "");
    struct arena *a = v->arena;
    struct json *args = json_new_array(a);

    add_option(a, args, MPI_OPTION_NAMESPACE, v->ns);
    add_number(a, args, MPI_OPTION_SLOTS, mpi_slots(v->spec));
    add_option(a, args, MPI_OPTION_IMPLEMENTATION,
               json_get_string(config, "implementation", "openmpi"));
    add_number(a, args, MPI_OPTION_TIMEOUT,
               json_get_int(config, "readyTimeoutSeconds", MPI_READY_TIMEOUT_SECONDS));
    if (home[0])
        add_option(a, args, MPI_OPTION_HOME, home);
    if (sshd_path(v))
        add_option(a, args, MPI_OPTION_SSH, key_folder(v));
    json_each (m, json_get(config, "mca"))
        json_append(args, json_new_stringf(a, MPI_OPTION_MCA "%s=%s", m->key, json_string(m, "")));
    json_each (arg, json_get(config, "extraArgs"))
        add_option(a, args, MPI_OPTION_EXTRA, json_string(arg, ""));
    for (size_t i = 1; i < v->len; i++)
        add_option(a, args, MPI_OPTION_WORKER, v->replicas[i].name);
    add_program(v, args, resume);
    return args;
}

/* A resumeSpecs entry for the launcher is what mpirun starts after a pause. */
static struct json *launcher_pod_spec(const struct job_view *v, const struct replica *r)
{
    const struct json *own = json_at(r->role->spec, "template", "spec");
    struct arena *a = v->arena;
    struct json *container, *spec = mpi_launcher_base(a, v->spec, &container);

    if (!json_get(own, "serviceAccountName"))
        json_set_string(a, spec, "serviceAccountName", r->name);
    if (sshd_path(v))
        mount_key(v, spec, container);
    if (replica_debug(v, r, spec))
        return spec;
    set_command(a, container, MPI_LAUNCH_COMMAND);
    json_set(a, container, "args", launch_args(v, replica_resume(v, r, spec)));
    return spec;
}

static struct json *pod_spec(const struct job_view *v, const struct replica *r)
{
    return r->rank == 0 ? launcher_pod_spec(v, r) : worker_pod_spec(v, r);
}

/* --- the launcher's rights -------------------------------------------------------------------- */

static void add_rule(const struct job_view *v, struct json *rules, const char *resource,
                     const char *const *verbs)
{
    struct arena *a = v->arena;
    struct json *rule = json_append(rules, json_new_object(a)), *names;

    json_append_string(a, json_make_array(a, rule, "apiGroups"), "");
    json_append_string(a, json_make_array(a, rule, "resources"), resource);
    for (struct json *list = json_make_array(a, rule, "verbs"); *verbs; verbs++)
        json_append_string(a, list, *verbs);
    names = json_make_array(a, rule, "resourceNames");
    for (size_t i = 1; i < v->len; i++)
        json_append_string(a, names, v->replicas[i].name);
}

static struct json *role_new(const struct job_view *v, const char *name)
{
    static const char *const look[] = {"get", "list", "watch", NULL};
    static const char *const start[] = {"create", "get", NULL}; /* WebSockets use GET */
    struct json *role = replica_child_new(v, &kind_role, name);
    struct json *rules = json_make_array(v->arena, role, "rules");

    add_rule(v, rules, "pods", look);
    if (!sshd_path(v))
        add_rule(v, rules, "pods/exec", start);
    return role;
}

static struct json *binding_new(const struct job_view *v, const char *name, const char *account)
{
    struct arena *a = v->arena;
    struct json *binding = replica_child_new(v, &kind_role_binding, name);
    struct json *ref = json_make_object(a, binding, "roleRef"), *subject;

    json_set_string(a, ref, "apiGroup", RBAC_GROUP);
    json_set_string(a, ref, "kind", kind_role.name);
    json_set_string(a, ref, "name", name);
    subject = json_append(json_make_array(a, binding, "subjects"), json_new_object(a));
    json_set_string(a, subject, "kind", kind_service_account.name);
    json_set_string(a, subject, "name", account);
    json_set_string(a, subject, "namespace", v->ns);
    return binding;
}

/* The launcher may start programs in this job's workers only. All of these are created with every
 * attempt; existing ones count as created, and are deleted with the job. */
static void prepare(const struct job_view *v, struct plan *plan)
{
    const char *name = v->replicas[0].name;
    const char *account = json_string(
        json_at(v->roles[0].spec, "template", "spec", "serviceAccountName"), name);

    if (strcmp(account, name) == 0)
        plan_create(plan, &kind_service_account, replica_child_new(v, &kind_service_account, name));
    if (sshd_path(v))
        plan_create(plan, &kind_secret, secret_new(v));
    plan_create(plan, &kind_role, role_new(v, name));
    plan_create(plan, &kind_role_binding, binding_new(v, name, account));
}

/* --- the kind --------------------------------------------------------------------------------- */

static enum clean_up_policy clean_up(const struct job_view *v, const struct json *pod,
                                     enum clean_up_policy of_all)
{
    const struct json *policy = json_get(v->spec, "runPolicy");
    const struct json *workers = json_get(policy, "cleanUpWorkers");
    const char *type = object_label(pod, LABEL_REPLICA_TYPE);

    if (!json_is(workers, JSON_BOOL) || !type || strcmp(type, MPI_WORKER) != 0)
        return of_all;
    if (json_bool(workers, false))
        return CLEAN_UP_ALL;
    return json_get(policy, "cleanUpPolicy") ? of_all : CLEAN_UP_NONE;
}

/* The launcher only starts the others. */
static int64_t processes(const struct job_view *v, const struct replica *r)
{
    return r->rank == 0 ? 1 : mpi_slots(v->spec);
}

static const struct job_rules rules = {
    .kind = &kind_mpi_job,
    .led = true,
    .scope = SCOPE_JOB,
    .main_containers = (const char *const[]){"launcher", "worker", "mpi-worker", NULL},
    .group_variables = (const char *const[]){NULL},
    .name_label = "mpi-job",
    .unify = mpi_unified_spec,
    .assign_roles = assign_roles,
    .budget = budget,
    .pod_spec = pod_spec,
    .processes = processes,
    .prepare = prepare,
    .clean_up = clean_up,
};

static void reconcile(const struct job_snapshot *s, struct plan *plan)
{
    job_run_look(&rules, s, plan);
}

static void wanted_names(struct arena *a, const struct json *job,
                         void (*say)(void *arg, const char *name), void *arg)
{
    job_run_names(&rules, a, job, say, arg);
}

const struct job_kind job_kind_mpi = {
    .kind = &kind_mpi_job,
    .without_port = true,
    .reconcile = reconcile,
    .wanted_names = wanted_names,
};
