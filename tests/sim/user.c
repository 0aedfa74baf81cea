/*
 * user.c - makes jobs and changes their mind about them: deletes, makes anew, pauses, resizes,
 * edits, deletes pods by hand, and has pods of their own under names that a job wants.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api/object.h"
#include "client/client.h"
#include "core/replica_names.h"
#include "sim.h"

#define JOBS_MAX 4
#define JSON_BYTES (1024u * 1024u)
#define RETRY_MS 700
#define HIGH_JOB "high"

/* Something to be created, tried until it is there. */
struct wish {
    struct wish *next, **at;
    struct user *user;
    const struct kind *kind;
    char *text;
    bool stubborn; /* also when the name is taken */
    struct clock_timer *timer;
};

struct user {
    struct sim *sim;
    struct transport *link;
    struct wish *wishes;
    char *jobs[JOBS_MAX]; /* by number: the manifest */
    size_t jobs_len;
};

/* --- creating ----------------------------------------------------------------------------------
 */

static void wish_free(struct wish *w)
{
    client_forget(w);
    clock_stop(w->user->sim->clock, w->timer);
    *w->at = w->next;
    if (w->next)
        w->next->at = w->at;
    free(w->text);
    free(w);
}

static void wish_try(void *arg);

static void wish_answered(void *arg, const struct json *object, const struct err *err)
{
    struct wish *w = arg;
    struct sim *s = w->user->sim;
    bool again = err && (err->reason == ERR_UNAVAILABLE || err->reason == ERR_INTERNAL ||
                         (w->stubborn && err->reason == ERR_ALREADY_EXISTS));

    if (!err)
        say(s, "user  made %s %s (%.8s)", w->kind->name, object_name(object), object_uid(object));
    else if (!again)
        say(s, "user  could not make a %s: %s", w->kind->name, err->text);
    if (err && err->reason == ERR_INVALID)
        violate(s, "the simulator's own manifest is refused: %s", err->text);
    if (again)
        w->timer = clock_start(s->clock, RETRY_MS, wish_try, w);
    else
        wish_free(w);
}

static void wish_try(void *arg)
{
    struct wish *w = arg;
    struct arena a = ARENA_INIT(JSON_BYTES);
    auto_err err = ERR_INIT;
    struct json *object = json_parse(&a, w->text, strlen(w->text), &err);

    w->timer = NULL;
    if (!object) {
        fprintf(stderr, "%s\n%s\n", err.text, w->text);
        abort();
    }
    client_create(w->user->link, w->kind, object, wish_answered, w);
    arena_release(&a);
}

static void wish(struct user *u, const struct kind *k, const char *text, bool stubborn,
                 int64_t delay_ms)
{
    struct wish *w = calloc(1, sizeof(*w));

    assert(w);
    *w = (struct wish){.next = u->wishes,
                       .at = &u->wishes,
                       .user = u,
                       .kind = k,
                       .text = strdup(text),
                       .stubborn = stubborn};
    if (w->next)
        w->next->at = &w->next;
    u->wishes = w;
    w->timer = clock_start(u->sim->clock, delay_ms, wish_try, w);
}

/* --- what jobs look like ------------------------------------------------------------------------
 */

static const char *pick(const char *const *words)
{
    int64_t n = 0;

    while (words[n])
        n++;
    return words[rand_below(n)];
}

static void add_replicas(struct buf *b, const char *type, int64_t replicas, bool torchrun)
{
    static const char *const policies[] = {"Never",  "OnFailure", "OnFailure",
                                           "Always", "ExitCode",  NULL};
    int64_t gpus = sim_machine.gpus && rand_chance(0.5) ? rand_range(1, 2) : 0;

    buf_addf(b,
             "{\"type\":\"%s\",\"replicas\":%lld,\"restartPolicy\":\"%s\",\"template\":{\"spec\":{"
             "\"terminationGracePeriodSeconds\":%lld,",
             type, (long long)replicas, pick(policies),
             (long long)(rand_chance(0.5) ? 30 : rand_range(1, 10)));
    if (rand_chance(0.1))
        buf_adds(
            b, "\"initContainers\":[{\"name\":\"init\",\"image\":\"i\",\"command\":[\"true\"]}],");
    buf_addf(b,
             "\"containers\":[{\"name\":\"pytorch\",\"image\":\"i\",%s\"args\":[\"train.py\"],"
             "\"resources\":{\"limits\":{\"cpu\":%lld%s%lld}}}]}}}",
             torchrun ? "" : "\"command\":[\"python\"],", (long long)rand_range(0, 2),
             gpus ? ",\"nvidia.com/gpu\":" : ",\"memory\":", (long long)(gpus ? gpus : 1000000));
}

static void add_run_policy(struct buf *b)
{
    static const char *const clean_ups[] = {"None", "All", "Unfinished", NULL};

    buf_addf(b, "\"runPolicy\":{\"backoffLimit\":%lld,\"cleanUpPolicy\":\"%s\"",
             (long long)rand_range(0, 5), pick(clean_ups));
    if (rand_chance(0.35))
        buf_adds(b, ",\"restartScope\":\"Job\"");
    if (rand_chance(0.2))
        buf_addf(b, ",\"activeDeadlineSeconds\":%lld", (long long)rand_range(1, 300));
    if (rand_chance(0.2))
        buf_addf(b, ",\"ttlSecondsAfterFinished\":%lld", (long long)rand_range(0, 600));
    if (rand_chance(0.2))
        buf_adds(b, ",\"restartableExitCodes\":[1,3]");
    buf_addc(b, '}');
}

static void add_modes(struct buf *b, bool torchrun, int64_t total)
{
    if (torchrun) {
        buf_adds(b, ",\"torchrunConfig\":{\"enabled\":true,\"procPerNode\":\"1\"}");
        if (rand_chance(0.6))
            buf_addf(b,
                     ",\"elastic\":{\"enabled\":true,\"minReplicas\":1,\"maxReplicas\":%lld,"
                     "\"expectedReplicas\":%lld}",
                     (long long)total + 2, (long long)total);
    }
    if (rand_chance(0.1))
        buf_adds(b, ",\"runMode\":{\"debug\":{\"enabled\":true}}");
    else if (rand_chance(0.1))
        buf_adds(b, ",\"runMode\":{\"pause\":{\"enabled\":true}}");
}

static char *draw_job(size_t number)
{
    struct buf b = BUF_INIT(JSON_BYTES);
    bool two = rand_chance(0.3), torchrun = !two && rand_chance(0.4);
    int64_t first = rand_range(1, 3), second = rand_range(1, 2);
    char *text;

    buf_addf(&b,
             "{\"apiVersion\":\"batch.tensorstack.dev/v1beta1\",\"kind\":\"PyTorchTrainingJob\","
             "\"metadata\":{\"name\":\"j%zu\",\"namespace\":\"default\"},\"spec\":{",
             number);
    add_run_policy(&b);
    buf_adds(&b, ",\"replicaSpecs\":[");
    add_replicas(&b, two ? "ps" : "worker", first, torchrun);
    if (two) {
        buf_addc(&b, ',');
        add_replicas(&b, "worker", second, false);
    }
    buf_addc(&b, ']');
    add_modes(&b, torchrun, first);
    buf_adds(&b, "}}");
    text = strdup(b.data);
    buf_release(&b);
    return text;
}

static void add_workers(struct buf *b, bool older)
{
    static const char *const policies[] = {"Never", "OnFailure", "OnFailure", "Always", NULL};

    buf_addf(
        b,
        "\"replicas\":%lld,%s%s%s\"template\":{\"spec\":{\"terminationGracePeriodSeconds\":%lld,"
        "\"containers\":[{\"name\":\"mpi-worker\",\"image\":\"i\",\"resources\":{\"limits\":{"
        "\"cpu\":%lld}}}]}}}",
        (long long)rand_range(1, 3), older ? "" : "\"restartPolicy\":{\"policy\":\"",
        older ? "" : pick(policies), older ? "" : "\"},", (long long)rand_range(1, 30),
        (long long)rand_range(0, 1));
}

static char *draw_mpi_job(size_t number)
{
    struct buf b = BUF_INIT(JSON_BYTES);
    bool older = rand_chance(0.3);
    char *text;

    buf_addf(&b,
             "{\"apiVersion\":\"batch.tensorstack.dev/v1beta1\",\"kind\":\"MPIJob\","
             "\"metadata\":{\"name\":\"j%zu\",\"namespace\":\"default\"},\"spec\":{",
             number);
    add_run_policy(&b);
    if (older) {
        buf_adds(&b, ",\"mpiHome\":\"/usr\",\"worker\":{\"cmd\":[\"pi\"],");
        add_workers(&b, true);
    } else {
        buf_adds(&b, ",\"mpiConfig\":{\"script\":[\"pi\"]},\"replicaSpecs\":[");
        if (rand_chance(0.3))
            buf_adds(&b, "{\"type\":\"launcher\",\"template\":{}},");
        buf_adds(&b, "{\"type\":\"worker\",");
        add_workers(&b, false);
        buf_addc(&b, ']');
    }
    add_modes(&b, false, 0);
    buf_adds(&b, "}}");
    text = strdup(b.data);
    buf_release(&b);
    return text;
}

/* It needs the whole machine for a while, and is gone afterwards. */
static const char *high_job(char text[1024])
{
    (void)snprintf(text, 1024,
                   "{\"apiVersion\":\"batch.tensorstack.dev/v1beta1\",\"kind\":"
                   "\"PyTorchTrainingJob\",\"metadata\":{\"name\":\"" HIGH_JOB "\",\"namespace\":"
                   "\"default\"},\"spec\":{\"scheduler\":{\"t9kScheduler\":{\"queue\":\"" HIGH_QUEUE
                   "\"}},\"runPolicy\":{\"cleanUpPolicy\":\"All\",\"activeDeadlineSeconds\":5,"
                   "\"ttlSecondsAfterFinished\":0},\"replicaSpecs\":[{\"type\":\"worker\","
                   "\"replicas\":1,\"template\":{\"spec\":{\"terminationGracePeriodSeconds\":1,"
                   "\"containers\":[{\"name\":\"pytorch\",\"image\":\"i\",\"command\":[\"x\"],"
                   "\"resources\":{\"limits\":{\"cpu\":%lld}}}]}}}]}}",
                   (long long)sim_machine.cpus);
    return text;
}

/* --- changing ----------------------------------------------------------------------------------
 */

static void ignore(void *arg, const struct json *object, const struct err *err)
{
    struct user *u = arg;

    (void)object;
    if (err)
        say(u->sim, "user  was refused: %s", err->text);
    if (err && err->reason == ERR_INVALID)
        violate(u->sim, "the simulator's own change is refused: %s", err->text);
}

struct choice {
    const struct json *chosen;
    int64_t seen;
    bool (*fits)(const struct json *object);
};

static void choose(void *arg, const char *key, const struct json *object)
{
    struct choice *c = arg;

    (void)key;
    if (c->fits && !c->fits(object))
        return;
    if (rand_below(++c->seen) == 0)
        c->chosen = object;
}

static const struct json *some_pod(struct user *u, bool (*fits)(const struct json *object))
{
    struct choice c = {.fits = fits};

    observer_each(u->sim->observer, PODS, choose, &c);
    return c.chosen;
}

static const struct json *some_job(struct user *u, bool (*fits)(const struct json *object))
{
    struct choice c = {.fits = fits};

    observer_each_job(u->sim->observer, choose, &c);
    return c.chosen;
}

static void patch(struct user *u, const struct json *job, const char *fmt, ...) printf_like(3, 4);

static void patch(struct user *u, const struct json *job, const char *fmt, ...)
{
    struct arena a = ARENA_INIT(JSON_BYTES);
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    say(u->sim, "user  patches %s: %s", object_name(job), text);
    client_patch(u->link, kind_of_object(job), "default", object_name(job), "",
                 json_parse(&a, text, strlen(text), NULL), ignore, u);
    arena_release(&a);
}

static bool is_live(const struct json *object)
{
    return !object_is_deleting(object) && strcmp(object_name(object), HIGH_JOB) != 0;
}

static bool preempt(struct user *u)
{
    char text[1024];

    if (observer_get(u->sim->observer, PYTORCH_JOBS, "default/" HIGH_JOB))
        return false;
    wish(u, &kind_pytorch_training_job, high_job(text), false, 0);
    return true;
}

static bool pause_wanted(const struct json *job)
{
    return json_bool(json_at(job, "spec", "runMode", "pause", "enabled"), false);
}

static bool may_pause(const struct json *job)
{
    return is_live(job) && !pause_wanted(job);
}

static bool may_resume(const struct json *job)
{
    return is_live(job) && pause_wanted(job);
}

static bool may_resize(const struct json *job)
{
    return is_live(job) && json_bool(json_at(job, "spec", "elastic", "enabled"), false);
}

static bool delete_pod(struct user *u, int64_t grace)
{
    const struct json *pod = some_pod(u, grace == 0 ? NULL : is_live);

    if (!pod)
        return false;
    observer_by_hand(u->sim->observer, object_uid(pod));
    say(u->sim, "user  deletes pod %s (%.8s), grace %lld", object_name(pod), object_uid(pod),
        (long long)grace);
    client_delete(u->link, &kind_pod, object_namespace(pod), object_name(pod), NULL, grace,
                  "Background", ignore, u);
    return true;
}

static bool delete_job(struct user *u, bool anew)
{
    const struct json *job = some_job(u, is_live);
    size_t number;

    if (!job)
        return false;
    number = (size_t)(object_name(job)[1] - '0');
    say(u->sim, "user  deletes job %s (%.8s)%s", object_name(job), object_uid(job),
        anew ? " and makes it anew" : "");
    observer_job_deleted_by_user(u->sim->observer, object_uid(job));
    client_delete(u->link, kind_of_object(job), "default", object_name(job), NULL, -1,
                  rand_chance(0.7) ? "Background" : "Foreground", ignore, u);
    if (anew)
        wish(u, kind_of_object(job), u->jobs[number], true, rand_below(20));
    return true;
}

static bool set_pause(struct user *u, bool on)
{
    const struct json *job = some_job(u, on ? may_pause : may_resume);

    if (!job)
        return false;
    patch(u, job, "{\"spec\":{\"runMode\":{\"pause\":{\"enabled\":%s}}}}", on ? "true" : "false");
    return true;
}

static bool resize(struct user *u)
{
    const struct json *job = some_job(u, may_resize);

    if (!job)
        return false;
    patch(u, job, "{\"spec\":{\"elastic\":{\"expectedReplicas\":%lld}}}",
          (long long)rand_range(1, json_int(json_at(job, "spec", "elastic", "maxReplicas"), 1)));
    return true;
}

static bool edit(struct user *u)
{
    static const char *const edits[] = {"\"backoffLimit\":%lld",
                                        "\"activeDeadlineSeconds\":%lld",
                                        "\"ttlSecondsAfterFinished\":%lld",
                                        "\"cleanUpPolicy\":\"All\"",
                                        "\"cleanUpPolicy\":\"None\"",
                                        "\"cleanUpPolicy\":\"Unfinished\"",
                                        "\"restartScope\":\"Job\"",
                                        "\"restartScope\":\"Replica\"",
                                        NULL};
    const struct json *job = some_job(u, is_live);
    const char *what = pick(edits);
    const char *place = strstr(what, "%lld");
    char text[128];

    if (!job)
        return false;
    if (place)
        (void)snprintf(
            text, sizeof(text), "%.*s%lld", (int)(place - what), what,
            (long long)(strstr(what, "backoff") ? rand_range(0, 6) : rand_range(1, 600)));
    else
        (void)snprintf(text, sizeof(text), "%s", what);
    patch(u, job, "{\"spec\":{\"runPolicy\":{%s}}}", text);
    return true;
}

void user_act(struct user *u, enum fault what)
{
    bool done = what == FAULT_POD_DELETED         ? delete_pod(u, rand_chance(0.5) ? -1 : 5)
                : what == FAULT_POD_FORCE_DELETED ? delete_pod(u, 0)
                : what == FAULT_JOB_DELETED       ? delete_job(u, false)
                : what == FAULT_JOB_RECREATED     ? delete_job(u, true)
                : what == FAULT_PAUSED            ? set_pause(u, true)
                : what == FAULT_RESUMED           ? set_pause(u, false)
                : what == FAULT_RESIZED           ? resize(u)
                : what == FAULT_PREEMPTED         ? preempt(u)
                                                  : edit(u);

    if (done)
        fault_note(u->sim, what);
}

/* --- pods of one's own --------------------------------------------------------------------------
 */

static void take_name(struct user *u, const char *name)
{
    char text[1024];

    (void)snprintf(text, sizeof(text),
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
                   "\"namespace\":\"default\"},\"spec\":{\"containers\":[{\"name\":\"c\","
                   "\"image\":\"i\",\"command\":[\"sleep\"]}]}}",
                   name);
    wish(u, &kind_pod, text, false, rand_below(10));
}

void user_saw_job(struct user *u, const struct json *job)
{
    const struct json *specs = json_at(job, "spec", "replicaSpecs");
    const struct json *spec = json_index(specs, (size_t)rand_below((int64_t)json_len(specs)));
    struct arena a = ARENA_INIT(JSON_BYTES);
    char hash5[HASH5_SIZE];

    if (u && fault(u->sim, FAULT_FOREIGN_POD)) {
        replica_hash5(object_name(job), object_uid(job), hash5);
        take_name(u, replica_name(&a, object_name(job), hash5, json_get_string(spec, "type", ""),
                                  rand_below(json_get_int(spec, "replicas", 1))));
    }
    arena_release(&a);
}

void user_saw_gone(struct user *u, const struct json *pod)
{
    if (u && object_controller(pod) && rand_chance(0.2) && fault(u->sim, FAULT_FOREIGN_POD))
        take_name(u, object_name(pod));
}

/* --- life --------------------------------------------------------------------------------------
 */

struct user *user_new(struct sim *s)
{
    struct user *u = calloc(1, sizeof(*u));
    int64_t jobs = rand_range(1, JOBS_MAX);

    assert(u);
    u->sim = s;
    u->link = network_link(s->network, CLIENT_USER);
    wish(u, &kind_queue,
         "{\"apiVersion\":\"scheduler.tensorstack.dev/v1beta1\",\"kind\":\"Queue\",\"metadata\":"
         "{\"name\":\"" HIGH_QUEUE "\",\"namespace\":\"t9k-system\"},\"spec\":{\"priority\":50,"
         "\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"none\",\"operator\":"
         "\"DoesNotExist\"}]}}}",
         true, 0);
    for (; (int64_t)u->jobs_len < jobs; u->jobs_len++) {
        bool mpi = rand_chance(0.3);

        u->jobs[u->jobs_len] = mpi ? draw_mpi_job(u->jobs_len) : draw_job(u->jobs_len);
        wish(u, mpi ? &kind_mpi_job : &kind_pytorch_training_job, u->jobs[u->jobs_len], true,
             rand_chance(0.5) ? rand_below(1000) : rand_below(120000));
    }
    return u;
}

void user_free(struct user *u)
{
    while (u->wishes)
        wish_free(u->wishes);
    client_forget(u);
    transport_free(u->link);
    for (size_t i = 0; i < u->jobs_len; i++)
        free(u->jobs[i]);
    free(u);
}

static void settle_pod(void *arg, const char *key, const struct json *pod)
{
    struct user *u = arg;

    (void)key;
    if (object_controller(pod) || rand_chance(0.5))
        return;
    observer_by_hand(u->sim->observer, object_uid(pod));
    client_delete(u->link, &kind_pod, object_namespace(pod), object_name(pod), object_uid(pod), -1,
                  "Background", ignore, u);
}

static void settle_job(void *arg, const char *key, const struct json *job)
{
    struct user *u = arg;

    (void)key;
    if (may_resume(job) && rand_chance(0.6))
        patch(u, job, "{\"spec\":{\"runMode\":{\"pause\":{\"enabled\":false}}}}");
}

void user_settle(struct user *u)
{
    observer_each(u->sim->observer, PODS, settle_pod, u);
    observer_each_job(u->sim->observer, settle_job, u);
}
