/*
 * notebook_ssh.c - see notebook_ssh.h.
 *
 * The server is the machine's sshd, run by the Notebook's own container as its own user: what ssh
 * starts has its limits, GPUs, volumes and environment. An init container prepares it, because sshd
 * looks up its user in /etc/passwd, which does not have a namespace's user, and gives terminals to
 * the group tty, which an ordinary user may not: replacements of both files are mounted read-only.
 * Its termination message says what is missing; the Notebook then runs without ssh.
 *
 * The host key is in a Secret of the Notebook, so that it stays the same when the pod is replaced.
 */
#include "core/notebook_ssh.h"

#include <inttypes.h>
#include <string.h>

#include "api/notebook_rules.h"
#include "api/object.h"
#include "base/timefmt.h"
#include "core/mpi.h"

#define SETUP_CONTAINER "ssh-setup"
#define VOLUME "muster-ssh"
#define HOST_PATH "/t9k/ssh-host"
#define KEYS_PATH "/t9k/ssh-keys"
#define ANNOTATION_SSH "muster.dev/ssh"
#define CONDITION "SshReady"
#define NOT_INSTALLED "NotInstalled"
#define NO_KEYS "NoKeys"
#define KEYS_REFUSED "KeysRefused"
#define UNUSABLE "Unusable"

/* Only lines with public keys are copied from the Secrets, whatever else they contain. */
static const char setup[] =
    "set -e; d=" NOTEBOOK_SSH_FOLDER "; PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin\n"
    "home=$HOME; shell=/bin/bash; [ -x $shell ] || shell=/bin/sh\n"
    "case $home in /*) ;; *) home=/ ;; esac; case $home in *[:[:cntrl:]]*) home=/ ;; esac\n"
    "umask 022\n"
    "{ echo \"" NOTEBOOK_SSH_USER
    ":x:$(id -u):$(id -g)::$home:$shell\"; cat /etc/passwd; } >$d/passwd\n"
    "{ grep -v '^tty:' /etc/group || :; } >$d/group\n"
    "umask 077; mkdir -p $d/run; cd $d/run\n"
    "say() { echo \"$1\" >\"$MUSTER_TERMINATION_LOG\"; echo \"$2\" >&2; exit 0; }\n"
    "command -v sshd >program || say " NOT_INSTALLED " 'sshd is not installed'\n"
    "for f in " KEYS_PATH "/*/*; do [ ! -f \"$f\" ] || { cat \"$f\"; echo; }; done | "
    "{ grep -E '(^| )(ssh-|ecdsa-|sk-)[^ ]* AAAA' || :; } >authorized\n"
    "refused=; for f in " KEYS_PATH "/*/" NOTEBOOK_SSH_KEYS_REFUSED "; do [ ! -e \"$f\" ] || "
    "{ f=${f%/*}; refused=\"$refused,${f##*/}\"; }; done\n"
    "[ -z \"$refused\" ] || echo \"" KEYS_REFUSED "$refused,\" >\"$MUSTER_TERMINATION_LOG\"\n"
    "[ -s authorized ] || say \"" NO_KEYS "$refused,\" 'there is no public key'\n"
    "cat " HOST_PATH "/" MPI_KEY_PRIVATE " >host\n"
    "sftp=/bin/false\n"
    "for f in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec; do "
    "[ ! -x $f/sftp-server ] || sftp=$f/sftp-server; done\n"
    "cat >config <<END\n"
    "ListenAddress 127.0.0.1:$" NOTEBOOK_SSH_PORT_VARIABLE "\n"
    "HostKey $d/host\n"
    "PidFile none\n"
    "AllowUsers " NOTEBOOK_SSH_USER "\n"
    "AuthenticationMethods publickey\n"
    "AuthorizedKeysFile $d/authorized\n"
    "StrictModes no\n"
    "PasswordAuthentication no\n"
    "KbdInteractiveAuthentication no\n"
    "UsePAM no\n"
    "PermitRootLogin prohibit-password\n"
    "PermitUserRC no\n"
    "PrintMotd no\n"
    "LoginGraceTime 30\n"
    "ClientAliveInterval 60\n"
    "Subsystem sftp $sftp\n"
    "ForceCommand /bin/sh $d/session\n"
    "END\n"
    "[ \"$(id -u)\" != 0 ] || mkdir -p /run/sshd\n"
    "sed \"s|^HostKey .*|HostKey $d/run/host|\" config >test; mv config later\n"
    "\"$(cat program)\" -t -f $d/run/test || say " UNUSABLE " 'sshd does not accept its settings'\n"
    "mv later config\n";

/* --- the pod ---------------------------------------------------------------------------------- */

static struct json *add_volume(struct arena *a, struct json *spec, const char *name)
{
    struct json *volume = json_append(json_make_array(a, spec, "volumes"), json_new_object(a));

    json_set_string(a, volume, "name", name);
    return volume;
}

static struct json *add_mount(struct arena *a, struct json *container, const char *name,
                              const char *path)
{
    struct json *mount = json_append(json_make_array(a, container, "volumeMounts"),
                                     json_new_object(a));

    json_set_string(a, mount, "name", name);
    json_set_string(a, mount, "mountPath", path);
    return mount;
}

static void mount_part(struct arena *a, struct json *container, const char *part, const char *path,
                       bool read_only)
{
    struct json *mount = add_mount(a, container, VOLUME, path);

    json_set_string(a, mount, "subPath", part);
    json_set_bool(a, mount, "readOnly", read_only);
}

static void mount_secret(struct arena *a, struct json *spec, struct json *container,
                         const char *volume, const char *secret, const char *path, bool optional)
{
    struct json *source = json_make_object(a, add_volume(a, spec, volume), "secret");

    json_set_string(a, source, "secretName", secret);
    json_set_bool(a, source, "optional", optional);
    json_set_bool(a, add_mount(a, container, volume, path), "readOnly", true);
}

/* Named after the Notebook's UID: an existing one is ours. */
static const char *secret_name(const struct app_look *l)
{
    return arena_printf(l->arena, "%s-ssh", job_child_name(l->arena, l->app));
}

/* The same user, home and volumes. Also its CPU and memory, in case limits are required of every
 * container: an init container does not add to the pod's total. */
static struct json *setup_container(struct arena *a, const struct json *container)
{
    static const char *const foreign[] = {"args",          "ports",          "lifecycle",
                                          "livenessProbe", "readinessProbe", "startupProbe"};
    static const char *const lists[] = {"limits", "requests"};
    struct json *c = json_clone(a, container), *command = json_new_array(a);

    for (size_t i = 0; i < ELEMS(foreign); i++)
        json_remove(c, foreign[i]);
    for (size_t i = 0; i < ELEMS(lists); i++) {
        const struct json *list = json_at(container, "resources", lists[i]);

        json_each (quantity, list)
            if (strcmp(quantity->key, "cpu") != 0 && strcmp(quantity->key, "memory") != 0)
                json_remove(json_get_mut(json_get_mut(c, "resources"), lists[i]), quantity->key);
    }
    json_set_string(a, c, "name", SETUP_CONTAINER);
    json_append_string(a, command, "/bin/sh");
    json_append_string(a, command, "-c");
    json_append_string(a, command, setup);
    json_set(a, c, "command", command);
    return c;
}

static const char *mark(const struct app_look *l)
{
    const char *text = arena_printf(l->arena, "%" PRId64, l->ssh_port.port);

    json_each (secret, json_at(l->app, "spec", "ssh", "authorized_keys"))
        text = arena_printf(l->arena, "%s %s", text ? text : "", json_string(secret, ""));
    return text;
}

void notebook_ssh_set(const struct app_look *l, struct json *pod, struct json *container)
{
    struct arena *a = l->arena;
    struct json *spec = json_get_mut(pod, "spec"), *prepare, *open;
    size_t n = 0;

    if (!l->ssh)
        return;
    app_set_variable(a, container, NOTEBOOK_SSH_PORT_VARIABLE,
                     arena_printf(a, "%" PRId64, l->ssh_port.port));
    open = json_append(json_make_array(a, container, "ports"), json_new_object(a));
    json_set_string(a, open, "name", APP_SSH_PORT);
    json_set_int(a, open, "containerPort", l->ssh_port.port);
    prepare = json_append(json_make_array(a, spec, "initContainers"),
                          setup_container(a, container));
    json_set_string(a, json_make_object(a, add_volume(a, spec, VOLUME), "emptyDir"), "medium",
                    "Memory");
    (void)add_mount(a, prepare, VOLUME, NOTEBOOK_SSH_FOLDER);
    mount_secret(a, spec, prepare, VOLUME "-host", secret_name(l), HOST_PATH, false);
    json_each (secret, json_at(l->app, "spec", "ssh", "authorized_keys")) {
        mount_secret(a, spec, prepare, arena_printf(a, NOTEBOOK_SSH_KEYS_VOLUME "%zu", n),
                     json_string(secret, ""), arena_printf(a, KEYS_PATH "/%zu", n), true);
        n++;
    }
    mount_part(a, container, "run", NOTEBOOK_SSH_FOLDER, false);
    mount_part(a, container, "passwd", "/etc/passwd", true);
    mount_part(a, container, "group", "/etc/group", true);
    json_set_string(a, json_make_object(a, json_make_object(a, pod, "metadata"), "annotations"),
                    ANNOTATION_SSH, mark(l));
}

const struct json *notebook_ssh_mark(const struct json *pod)
{
    return json_at(pod, "metadata", "annotations", ANNOTATION_SSH);
}

struct json *notebook_ssh_secret(const struct app_look *l)
{
    struct json *secret = app_child_new(l->arena, l->kind, l->app, &kind_secret);

    json_set_string(l->arena, json_make_object(l->arena, secret, "metadata"), "name",
                    secret_name(l));
    json_set_string(l->arena, secret, "type", MPI_SECRET_TYPE);
    return secret;
}

/* --- the status ------------------------------------------------------------------------------- */

struct verdict {
    bool ready;
    const char *reason, *message;
};

static const char *setup_said(const struct app_look *l)
{
    json_each (container, json_at(l->pod, "status", "initContainerStatuses"))
        if (json_string_is(json_get(container, "name"), SETUP_CONTAINER))
            return json_string(json_at(container, "state", "terminated", "message"), "");
    return "";
}

static bool says(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* What to do about Secrets whose keys were not taken; the set-up says which, as ",0,2,". */
static const char *refused_keys(const struct app_look *l, const char *said)
{
    const char *names = "";
    size_t n = 0;

    json_each (secret, json_at(l->app, "spec", "ssh", "authorized_keys")) {
        const char *number = arena_printf(l->arena, ",%zu,", n++);

        if (number && names && strstr(said, number))
            names = arena_printf(l->arena, "%s%s%s", names, *names ? " " : "",
                                 json_string(secret, ""));
    }
    if (!names || !*names)
        return NULL;
    return arena_printf(
        l->arena,
        "Keys of these Secrets are not accepted, as an account that may not use "
        "kubectl exec in this pod wrote them: %s. Check them, run `kubectl annotate "
        "secret %s " ANNOTATION_WRITER_ENTERS "-`, then pause and resume the Notebook.",
        names, names);
}

static struct verdict judge(const struct app_look *l)
{
    const char *said = setup_said(l), *refused = refused_keys(l, said);

    if (!l->snapshot->shared_network)
        return (struct verdict){
            .reason = "NotHere",
            .message = "On a cluster a Notebook has no ssh server: use its terminal, kubectl exec, "
                       "or kubectl port-forward to one that the image starts."};
    if (says(said, NOT_INSTALLED))
        return (struct verdict){
            .reason = NOT_INSTALLED,
            .message = "There is no ssh server on this machine: install sshd (Debian: "
                       "openssh-server), then pause and resume the Notebook."};
    if (says(said, NO_KEYS) && refused)
        return (struct verdict){.reason = KEYS_REFUSED, .message = refused};
    if (says(said, NO_KEYS))
        return (struct verdict){
            .reason = NO_KEYS,
            .message = "The Secrets in spec.ssh.authorized_keys contain no public key: create "
                       "them, then pause and resume the Notebook."};
    if (says(said, UNUSABLE))
        return (struct verdict){
            .reason = UNUSABLE,
            .message =
                "The machine's sshd cannot be used; the log of the container " SETUP_CONTAINER
                " says why."};
    if (l->phase != APP_RUNNING)
        return (struct verdict){.reason = "NotRunning", .message = "The Notebook does not run."};
    return (struct verdict){
        .ready = true,
        .reason = refused ? KEYS_REFUSED : "",
        .message = arena_printf(l->arena, "Its ssh server is on port %" PRId64 " of 127.0.0.1.%s%s",
                                l->ssh_port.port, refused ? " " : "", refused ? refused : "")};
}

static void set_place(const struct app_look *l, struct json *status)
{
    struct json *ssh = json_make_object(l->arena, status, "ssh");
    const char *address = json_string(json_at(l->ssh_service, "spec", "clusterIP"), "");
    int64_t last_ms = object_time(json_at(l->app, "metadata", "annotations"), ANNOTATION_LAST_SSH);
    char text[TIME_TEXT_SIZE];

    if (l->ssh_port.port)
        json_set_int(l->arena, ssh, "port", l->ssh_port.port);
    json_set_string(l->arena, ssh, "serviceName", app_ssh_service_name(l->arena, l->app));
    json_set_string(l->arena, ssh, "protocol", "TCP");
    if (*address)
        json_set_string(l->arena, ssh, "clusterIp", address);
    if (last_ms)
        json_set_string(l->arena, ssh, "lastSshClientActivity",
                        time_format(min_i64(last_ms, l->now_ms), text));
}

void notebook_ssh_status(const struct app_look *l, struct json *status, struct plan *plan)
{
    const struct json *old = object_condition(l->app, CONDITION);
    struct verdict v;

    if (l->ssh)
        set_place(l, status);
    else if (!l->ssh_port.held) /* by which its lease is found */
        json_remove(status, "ssh");
    if (!port_wants_ssh(l->app))
        return;
    v = judge(l);
    app_set_condition(l, json_get_mut(status, "conditions"), CONDITION, v.ready ? "True" : "False",
                      v.reason, v.message);
    if (*v.reason && strcmp(v.reason, "NotRunning") != 0 &&
        !json_string_is(json_get(old, "reason"), v.reason))
        plan_event(plan, l->kind->job->kind, l->app, "Warning",
                   v.ready ? "SshKeysRefused" : "SshNotReady", "%s", v.message);
}
