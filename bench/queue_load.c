/*
 * queue_load.c - so many groups in so many queues on nodes that are only told of: how fast they
 * start.
 *
 *   TOKEN=... queue_load PORT GROUPS QUEUES NODES RUN_MS PODS
 *
 * Makes nodes, queues, groups and their pods through the API, hears of bindings by one watch, and
 * writes that a pod has succeeded when it has "run". 7 of 10 groups ask for 1 CPU a pod and run for
 * RUN_MS, 2 for 2 CPUs and 2.5 times as long, 1 for a whole node (4 CPUs) and 5 times as long, in
 * the proportions of Kueue's benchmark. A group is admitted when all its pods are bound. Prints one
 * line:
 *   RESULT load_s all_s admitted waiting_when_loaded after_load_s admitted_after_load idle_p50_us
 *          idle_p99_us writes errors
 * idle: how long room stayed free, from the answer to "succeeded" to the hearing of the binding
 * that took it, CPU by CPU, oldest first, while groups waited. writes: revisions used from the
 * first group on, by whomever.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "load.h"

#define WRITERS 64
#define CLASSES 3
#define NODE_CPUS 4
#define PROBE_NS INT64_C(2000000000)
#define STALLED_NS INT64_C(60000000000)
#define ANSWER_BYTES (64u * 1024u)
#define WATCH_BYTES (1024u * 1024u)
#define PODS_PATH "/api/v1/namespaces/default/pods"
#define SCHEDULER_PATH "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/"
#define JSON "application/json"
#define MERGE "application/merge-patch+json"

static const struct class
{
    unsigned cpus, halves_of_run; /* of RUN_MS */
} classes[CLASSES] = {{1, 2}, {2, 5}, {4, 10}};

struct writer {
    int fd;
    bool busy;
    unsigned finishes; /* the number of the pod, and 1; 0: none */
    char answer[ANSWER_BYTES];
    size_t len;
};

/* Pods that run, in the order they end: all of one class run equally long. */
struct line {
    unsigned *pods;
    int64_t *due_ns;
    size_t first, end;
};

static struct {
    unsigned groups, queues, nodes, pods;
    int64_t run_ns;
    struct writer writers[WRITERS];
    struct line lines[CLASSES];
    unsigned *node_of; /* of pods: the number of the node, and 1; 0: not bound */
    unsigned *unbound; /* of groups: pods not bound yet */
    int64_t *freed_ns; /* of nodes: when a pod ended there, and none was bound since; 0: no such */
    unsigned answered, errors, admitted, finished;
    struct histogram idle;
    int epoll;
    char raw[WATCH_BYTES], watch[2 * WATCH_BYTES]; /* what came; and without its frame */
    size_t raw_len, watch_len, chunk_left;
    bool head_over;
    int watch_fd;
    int64_t last_ns;
} b;

static unsigned class_of(unsigned group)
{
    return group % 10 < 7 ? 0 : group % 10 < 9 ? 1 : 2;
}

/* --- requests -------------------------------------------------------------------------- */

static struct writer *idle_writer(void)
{
    for (size_t i = 0; i < WRITERS; i++)
        if (!b.writers[i].busy)
            return &b.writers[i];
    return NULL;
}

static void say(struct writer *w, const char *method, const char *path, const char *type,
                const char *body)
{
    w->busy = true;
    w->finishes = 0;
    w->len = 0;
    ask(w->fd, method, path, type, body);
}

static void send_node(struct writer *w, unsigned number)
{
    char body[600];

    (void)snprintf(
        body, sizeof(body),
        "{\"metadata\":{\"name\":\"node-%04u\"},\"status\":{\"capacity\":{\"cpu\":\"%d\","
        "\"memory\":\"64Gi\",\"pods\":\"110\"},\"allocatable\":{\"cpu\":\"%d\",\"memory\":"
        "\"64Gi\",\"pods\":\"110\"},\"conditions\":[{\"type\":\"Ready\",\"status\":"
        "\"True\",\"reason\":\"Simulated\"}]}}",
        number, NODE_CPUS, NODE_CPUS);
    say(w, "POST", "/api/v1/nodes", JSON, body);
}

static void send_queue(struct writer *w, unsigned number)
{
    char body[400];

    (void)snprintf(body, sizeof(body),
                   "{\"metadata\":{\"name\":\"queue-%u\"},\"spec\":{\"priority\":5,"
                   "\"namespaceSelector\":{\"matchExpressions\":[{\"key\":"
                   "\"kubernetes.io/metadata.name\",\"operator\":\"Exists\"}]}}}",
                   number);
    say(w, "POST", SCHEDULER_PATH "t9k-system/queues", JSON, body);
}

static void send_map(struct writer *w, unsigned number)
{
    char body[1800];

    (void)snprintf(body, sizeof(body),
                   "{\"metadata\":{\"name\":\"plain-%u\"},\"data\":{\"k\":\"%01500u\"}}", number,
                   number);
    say(w, "POST", "/api/v1/namespaces/default/configmaps", JSON, body);
}

static void send_group(struct writer *w, unsigned group)
{
    char body[300];

    (void)snprintf(body, sizeof(body),
                   "{\"metadata\":{\"name\":\"g%u\"},\"spec\":{\"queue\":\"queue-%u\","
                   "\"minMember\":%u}}",
                   group, group % b.queues, b.pods);
    say(w, "POST", SCHEDULER_PATH "default/podgroups", JSON, body);
}

static void send_pod(struct writer *w, unsigned pod)
{
    unsigned group = pod / b.pods;
    char body[700];

    (void)snprintf(
        body, sizeof(body),
        "{\"metadata\":{\"name\":\"w%u\",\"labels\":{"
        "\"scheduler.tensorstack.dev/group-name\":\"g%u\"}},\"spec\":{"
        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"none\","
        "\"command\":[\"true\"],\"resources\":{\"requests\":{\"cpu\":\"%u\"}}}]}}",
        pod, group, classes[class_of(group)].cpus);
    say(w, "POST", PODS_PATH, JSON, body);
}

static void send_finish(struct writer *w, unsigned pod)
{
    char path[100];

    (void)snprintf(path, sizeof(path), PODS_PATH "/w%u/status", pod);
    say(w, "PATCH", path, MERGE, "{\"status\":{\"phase\":\"Succeeded\"}}");
    w->finishes = pod + 1;
}

/* --- answers --------------------------------------------------------------------------- */

static bool is_whole(const struct writer *w)
{
    const char *end = memmem(w->answer, w->len, "\r\n\r\n", 4), *length;

    if (!end)
        return false;
    length = strcasestr(w->answer, "Content-Length: ");
    return !length || length > end ||
           w->len - (size_t)(end + 4 - w->answer) >= strtoul(length + 16, NULL, 10);
}

static void read_answer(struct writer *w)
{
    ssize_t n = read(w->fd, w->answer + w->len, sizeof(w->answer) - 1 - w->len);

    if (n <= 0)
        die("a connection was closed");
    w->len += (size_t)n;
    w->answer[w->len] = '\0';
    if (!is_whole(w))
        return;
    if (strncmp(w->answer, "HTTP/1.1 20", 11) != 0 && b.errors++ == 0)
        (void)fprintf(stderr, "queue_load: %.600s\n", w->answer);
    b.answered++;
    if (w->finishes) {
        b.finished++;
        b.freed_ns[b.node_of[w->finishes - 1] - 1] = now_ns();
    }
    w->busy = false;
}

/* --- what is heard --------------------------------------------------------------------- */

static void hear_bound(unsigned pod, unsigned node)
{
    unsigned group = pod / b.pods, class = class_of(group);
    struct line *line = &b.lines[class];
    int64_t now = now_ns();

    if (pod >= b.groups * b.pods || node >= b.nodes || b.node_of[pod])
        return;
    b.node_of[pod] = node + 1;
    b.last_ns = now;
    if (b.freed_ns[node])
        histogram_add(&b.idle, now - b.freed_ns[node]);
    b.freed_ns[node] = 0;
    line->pods[line->end] = pod;
    line->due_ns[line->end++] = now + b.run_ns * classes[class].halves_of_run / 2;
    if (--b.unbound[group] == 0)
        b.admitted++;
}

static void hear(const char *line, size_t len)
{
    static const char pod[] = "\"name\":\"w", node[] = "\"nodeName\":\"node-";
    const char *name = memmem(line, len, pod, sizeof(pod) - 1);
    const char *where = memmem(line, len, node, sizeof(node) - 1);

    if (name && where)
        hear_bound((unsigned)strtoul(name + sizeof(pod) - 1, NULL, 10),
                   (unsigned)strtoul(where + sizeof(node) - 1, NULL, 10));
}

static void drop_raw(size_t len)
{
    b.raw_len -= len;
    memmove(b.raw, b.raw + len, b.raw_len);
    b.raw[b.raw_len] = '\0';
}

/* The length of the next chunk, once its line is there; what frames it is taken out. */
static bool open_chunk(void)
{
    char *at = b.head_over ? b.raw : strstr(b.raw, "\r\n\r\n"), *end;

    if (!at)
        return false;
    at += b.head_over ? strspn(at, "\r\n") : 4;
    end = memchr(at, '\n', b.raw_len - (size_t)(at - b.raw));
    if (!end)
        return false;
    b.head_over = true;
    b.chunk_left = strtoul(at, NULL, 16);
    drop_raw((size_t)(end + 1 - b.raw));
    if (b.chunk_left == 0)
        die("the watch ended");
    return true;
}

static void take_chunk(void)
{
    size_t n = b.raw_len < b.chunk_left ? b.raw_len : b.chunk_left;
    char *at = b.watch, *newline;

    if (b.watch_len + n > sizeof(b.watch))
        die("an event is too long");
    memcpy(b.watch + b.watch_len, b.raw, n);
    b.watch_len += n;
    b.chunk_left -= n;
    drop_raw(n);
    while ((newline = memchr(at, '\n', b.watch_len - (size_t)(at - b.watch)))) {
        hear(at, (size_t)(newline - at));
        at = newline + 1;
    }
    b.watch_len -= (size_t)(at - b.watch);
    memmove(b.watch, at, b.watch_len);
}

static void read_watch(void)
{
    ssize_t n = read(b.watch_fd, b.raw + b.raw_len, sizeof(b.raw) - 1 - b.raw_len);

    if (n <= 0)
        die("the watch ended");
    b.raw_len += (size_t)n;
    b.raw[b.raw_len] = '\0';
    while (b.raw_len > 0 && (b.chunk_left > 0 || open_chunk()))
        take_chunk();
}

static void wait_a_while(void)
{
    struct epoll_event events[WRITERS + 1];
    int n = epoll_wait(b.epoll, events, WRITERS + 1, 1);

    for (int i = 0; i < n; i++)
        if (events[i].data.ptr)
            read_answer(events[i].data.ptr);
        else
            read_watch();
}

static void join_epoll(int fd, struct writer *w)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = w};

    if (epoll_ctl(b.epoll, EPOLL_CTL_ADD, fd, &e) < 0)
        die("epoll");
}

/* --- phases ---------------------------------------------------------------------------- */

static bool all_idle(void)
{
    for (size_t i = 0; i < WRITERS; i++)
        if (b.writers[i].busy)
            return false;
    return true;
}

static void make(void (*send)(struct writer *w, unsigned number), unsigned count)
{
    struct writer *w;

    for (unsigned i = 0; i < count || !all_idle();) {
        while (i < count && (w = idle_writer()))
            send(w, i++);
        wait_a_while();
    }
}

static unsigned plain_creates(void)
{
    int64_t begin = now_ns();
    unsigned sent = 0, before = b.answered;
    struct writer *w;

    while (now_ns() - begin < PROBE_NS) {
        while ((w = idle_writer()))
            send_map(w, sent++);
        wait_a_while();
    }
    while (!all_idle())
        wait_a_while();
    return (unsigned)((int64_t)(b.answered - before) * 1000000000 / (now_ns() - begin));
}

static long long revision(void)
{
    struct writer *w = &b.writers[0];
    const char *at;

    say(w, "GET", "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Dnone", JSON,
        "");
    while (w->busy)
        wait_a_while();
    at = strstr(w->answer, "\"resourceVersion\":\"");
    return at ? strtoll(at + 19, NULL, 10) : 0;
}

static bool finish_one(void)
{
    int64_t now = now_ns();
    struct writer *w;

    for (size_t i = 0; i < CLASSES; i++) {
        struct line *line = &b.lines[i];

        if (line->first == line->end || line->due_ns[line->first] > now)
            continue;
        w = idle_writer();
        if (!w)
            return false;
        send_finish(w, line->pods[line->first++]);
        return true;
    }
    return false;
}

/* A group and its pods, one after the other; what has run ends first. */
static void run(int64_t *ret_loaded_ns, unsigned *ret_admitted)
{
    unsigned to_load = b.groups * (b.pods + 1), loaded = 0, all = b.groups * b.pods;
    struct writer *w;

    *ret_loaded_ns = 0;
    b.last_ns = now_ns();
    while (b.finished < all) {
        while (finish_one())
            ;
        for (int turn = 0; turn < 8 && loaded < to_load && (w = idle_writer()); turn++) {
            unsigned group = loaded / (b.pods + 1), part = loaded % (b.pods + 1);

            if (part == 0)
                send_group(w, group);
            else
                send_pod(w, group * b.pods + part - 1);
            loaded++;
        }
        if (loaded == to_load && !*ret_loaded_ns) {
            *ret_loaded_ns = now_ns();
            *ret_admitted = b.admitted;
        }
        wait_a_while();
        if (loaded == to_load && now_ns() - b.last_ns > STALLED_NS) {
            (void)fprintf(stderr,
                          "queue_load: nothing was bound for a minute: %u of %u groups started\n",
                          b.admitted, b.groups);
            exit(1);
        }
    }
}

static void *room_for(size_t count, size_t size)
{
    void *p = calloc(count + 1, size);

    if (!p)
        die("memory");
    return p;
}

static void set_up(void)
{
    size_t pods = (size_t)b.groups * b.pods;

    b.node_of = room_for(pods, sizeof(*b.node_of));
    b.unbound = room_for(b.groups, sizeof(*b.unbound));
    b.freed_ns = room_for(b.nodes, sizeof(*b.freed_ns));
    for (size_t i = 0; i < b.groups; i++)
        b.unbound[i] = b.pods;
    for (size_t i = 0; i < CLASSES; i++) {
        b.lines[i].pods = room_for(pods, sizeof(*b.lines[i].pods));
        b.lines[i].due_ns = room_for(pods, sizeof(*b.lines[i].due_ns));
    }
    b.epoll = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < WRITERS; i++) {
        b.writers[i].fd = open_connection();
        join_epoll(b.writers[i].fd, &b.writers[i]);
    }
    b.watch_fd = open_connection();
    ask(b.watch_fd, "GET",
        PODS_PATH "?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&"
                  "fieldSelector=spec.nodeName!%3D",
        "", "");
    join_epoll(b.watch_fd, NULL);
}

int main(int argc, char **argv)
{
    int64_t begin, loaded = 0, end;
    unsigned admitted_loaded = 0;
    long long first;

    server.token = getenv("TOKEN");
    if (argc != 7 || !server.token) {
        (void)fprintf(stderr, "usage: TOKEN=... queue_load PORT GROUPS QUEUES NODES RUN_MS PODS\n");
        return 2;
    }
    server.port = (unsigned)strtoul(argv[1], NULL, 10);
    b.groups = (unsigned)strtoul(argv[2], NULL, 10);
    b.queues = (unsigned)strtoul(argv[3], NULL, 10);
    b.nodes = (unsigned)strtoul(argv[4], NULL, 10);
    b.run_ns = strtoll(argv[5], NULL, 10) * 1000000;
    b.pods = (unsigned)strtoul(argv[6], NULL, 10);
    set_up();
    if (b.groups == 0) {
        printf("RESULT %u\n", plain_creates());
        return b.errors != 0;
    }
    make(send_node, b.nodes);
    make(send_queue, b.queues);
    first = revision();
    begin = now_ns();
    run(&loaded, &admitted_loaded);
    end = b.last_ns;
    printf("RESULT %.3f %.3f %u %u %.3f %u %llu %llu %lld %u\n", (double)(loaded - begin) / 1e9,
           (double)(end - begin) / 1e9, b.admitted, b.groups - admitted_loaded,
           (double)(end - loaded) / 1e9, b.admitted - admitted_loaded,
           (unsigned long long)histogram_at(&b.idle, .5),
           (unsigned long long)histogram_at(&b.idle, .99), revision() - first, b.errors);
    return b.errors != 0;
}
