/*
 * tls.c - see tls.h.
 *
 * The loop's thread and ours share the list of connections handed over and the stop flag, under one
 * lock; everything else belongs to this thread. At most one record is buffered per direction: a
 * side that does not read makes the other wait.
 */
#include "net/tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "loop/loop.h"

#define RECORD_BYTES (16u * 1024u)
#define RECORD_HEAD_BYTES 5
#define AHEAD_BYTES (4u * 1024u)
#define RECORDS_PER_TURN 8
#define NOT_WATCHED UINT_MAX /* after an error the loop no longer watches */
#define RENEW_AFTER_S ((int64_t)CERTIFICATE_DAYS * 24 * 3600 / 2)
/* The certificate's key type permits only suites with forward secrecy. */
#define PRIORITIES                                                                                 \
    "PERFORMANCE:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:"       \
    "+CHACHA20-POLY1305:%SERVER_PRECEDENCE"

/* Old credentials are kept: connections may still use them, and there is a new one only every half
 * year. */
struct credentials {
    struct credentials *older;
    gnutls_certificate_credentials_t gnutls;
    int64_t made_s;
};

#define NAME_SIZE 256

struct identity {
    char user[NAME_SIZE], names[TLS_GROUPS_LIMIT][NAME_SIZE];
    const char *groups[TLS_GROUPS_LIMIT + 1];
    int64_t until_s;
};

/* Small: every connection has one, and few have a certificate. */
struct tls_peer {
    atomic_uint references;
    _Atomic(struct identity *) identity; /* complete once it is set, and never changed */
};

struct link {
    struct link *prev, *next;
    struct tls *tls;
    struct tls_peer *peer; /* or NULL */
    int net, plain;
    gnutls_session_t session;
    struct loop_fd *net_watch, *plain_watch;
    unsigned net_events, plain_events;
    int hello_len; /* bytes needed before a session is created */
    struct clock_timer *closing;
    bool open;        /* the handshake is done */
    bool net_ended;   /* the client sends no more, and the server knows */
    bool plain_ended; /* the server sends no more */
    bool told_end;    /* and the client knows */
    bool flushing;    /* GnuTLS has a record the network did not take completely */
    char *rest;       /* decrypted, not yet taken by the server */
    size_t rest_len, rest_at;
    size_t ahead_len, ahead_at;
    char ahead[AHEAD_BYTES]; /* received, not yet requested by GnuTLS */
};

struct tls {
    struct key_pair authority;
    const char *names[TLS_NAMES_LIMIT + 1];
    const char *client_ca_pem;
    struct arena arena; /* for the three above */
    struct loop *loop;
    struct loop_wake *wake;
    pthread_t thread;
    bool running;

    pthread_mutex_t lock; /* guards what follows */
    struct link *arrived;
    bool stopping;

    /* the thread's own */
    struct link *links;
    struct credentials *credentials;
    gnutls_priority_t priorities;
    char record[RECORD_BYTES];
};

/* --- the certificate -------------------------------------------------------------------- */

static int load_credentials(struct credentials *c, const struct buf *key, const struct buf *chain,
                            const char *client_ca_pem)
{
    gnutls_datum_t k = {.data = (unsigned char *)key->data, .size = (unsigned)key->len};
    gnutls_datum_t pem = {.data = (unsigned char *)chain->data, .size = (unsigned)chain->len};
    gnutls_datum_t clients = {.data = (unsigned char *)client_ca_pem,
                              .size = client_ca_pem ? (unsigned)strlen(client_ca_pem) : 0};
    int r = gnutls_certificate_allocate_credentials(&c->gnutls);

    if (r == 0)
        r = gnutls_certificate_set_x509_key_mem(c->gnutls, &pem, &k, GNUTLS_X509_FMT_PEM);
    if (r >= 0 && client_ca_pem)
        r = gnutls_certificate_set_x509_trust_mem(c->gnutls, &clients, GNUTLS_X509_FMT_PEM);
    return r < 0 ? r : 0;
}

static void credentials_free(struct credentials *c)
{
    if (c && c->gnutls)
        gnutls_certificate_free_credentials(c->gnutls);
    free(c);
}

static void renew(struct tls *t, int64_t now_s)
{
    struct buf key = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES);
    struct buf pem = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES);
    struct credentials *c = calloc(1, sizeof(*c));
    auto_err err = ERR_INIT;

    if (c && certificate_make(&t->authority, t->names, now_s, &key, &pem, &err) == 0 &&
        !key.failed && !pem.failed && load_credentials(c, &key, &pem, t->client_ca_pem) == 0) {
        *c = (struct credentials){.older = t->credentials, .gnutls = c->gnutls, .made_s = now_s};
        t->credentials = c;
    } else {
        log_error("TLS: no certificate: %s", err.text ? err.text : "out of memory");
        credentials_free(c);
    }
    if (key.data)
        explicit_bzero(key.data, key.len);
    buf_release(&key);
    buf_release(&pem);
}

/* NULL when there is none. An expired certificate is better than none. */
static const struct credentials *current_credentials(struct tls *t)
{
    int64_t now_s = time(NULL);

    if (!t->credentials || now_s - t->credentials->made_s > RENEW_AFTER_S ||
        now_s < t->credentials->made_s)
        renew(t, now_s);
    return t->credentials;
}

/* --- client identity -------------------------------------------------------------------- */

struct tls_peer *tls_peer_new(void)
{
    struct tls_peer *p = calloc(1, sizeof(*p));

    if (p)
        atomic_init(&p->references, 1);
    return p;
}

void tls_peer_unref(struct tls_peer *p)
{
    if (!p || atomic_fetch_sub(&p->references, 1) != 1)
        return;
    free(atomic_load(&p->identity));
    free(p);
}

const char *tls_peer_user(const struct tls_peer *p)
{
    const struct identity *is = p ? atomic_load(&p->identity) : NULL;

    return is ? is->user : NULL;
}

const char *const *tls_peer_groups(const struct tls_peer *p)
{
    return atomic_load(&p->identity)->groups;
}

int64_t tls_peer_until(const struct tls_peer *p)
{
    return atomic_load(&p->identity)->until_s;
}

static bool read_name(gnutls_x509_crt_t c, const char *oid, unsigned index, char out[NAME_SIZE])
{
    size_t size = NAME_SIZE;

    return gnutls_x509_crt_get_dn_by_oid(c, oid, index, 0, out, &size) == 0 && *out &&
           strlen(out) == size;
}

static bool has_name(gnutls_x509_crt_t c, const char *oid, unsigned index)
{
    size_t size = 0;

    return gnutls_x509_crt_get_dn_by_oid(c, oid, index, 0, NULL, &size) !=
           GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
}

/* An invalid certificate counts as none: the client may still have a token. So does one with
 * several common names: which of them is the user depends on the reader. */
static void identify(struct link *k)
{
    gnutls_typed_vdata_st client = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                    .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
    struct identity *is;
    unsigned count = 0, status;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(k->session, &count);
    gnutls_x509_crt_t c;
    size_t n = 0;

    if (!chain || count == 0 ||
        gnutls_certificate_verify_peers(k->session, &client, 1, &status) < 0 || status != 0 ||
        gnutls_x509_crt_init(&c) < 0)
        return;
    is = calloc(1, sizeof(*is));
    if (is && gnutls_x509_crt_import(c, &chain[0], GNUTLS_X509_FMT_DER) == 0 &&
        read_name(c, GNUTLS_OID_X520_COMMON_NAME, 0, is->user) &&
        !has_name(c, GNUTLS_OID_X520_COMMON_NAME, 1)) {
        while (n < TLS_GROUPS_LIMIT &&
               read_name(c, GNUTLS_OID_X520_ORGANIZATION_NAME, (unsigned)n, is->names[n])) {
            is->groups[n] = is->names[n];
            n++;
        }
        is->until_s = (int64_t)gnutls_x509_crt_get_expiration_time(c);
        is = atomic_exchange(&k->peer->identity, is);
    }
    free(is);
    gnutls_x509_crt_deinit(c);
}

/* --- one connection --------------------------------------------------------------------- */

static void link_free(struct link *k)
{
    loop_fd_stop(k->net_watch);
    loop_fd_stop(k->plain_watch);
    if (k->closing)
        clock_stop(loop_clock(k->tls->loop), k->closing);
    if (k->session)
        gnutls_deinit(k->session);
    (void)close(k->net);
    (void)close(k->plain);
    tls_peer_unref(k->peer);
    free(k->rest);
    free(k);
}

static void drop(struct link *k)
{
    list_remove(&k->tls->links, k);
    link_free(k);
}

static void took_too_long(void *arg)
{
    struct link *k = arg;

    k->closing = NULL;
    drop(k);
}

static void plain_ends(struct link *k)
{
    if (!k->closing)
        k->closing = clock_start(loop_clock(k->tls->loop), TLS_CLOSING_MS, took_too_long, k);
}

static void net_ends(struct link *k)
{
    k->net_ended = true;
    free(k->rest);
    k->rest = NULL;
    (void)shutdown(k->plain, SHUT_WR);
}

/* False: the server's end is closed. */
static bool give(struct link *k, const char *data, size_t len)
{
    ssize_t n = send(k->plain, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    size_t taken = n > 0 ? (size_t)n : 0;

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return false;
    if (taken == len)
        return true;
    k->rest = malloc(len - taken);
    if (!k->rest)
        return false;
    k->rest_at = 0;
    k->rest_len = len - taken;
    memcpy(k->rest, data + taken, k->rest_len);
    return true;
}

static bool give_rest(struct link *k)
{
    ssize_t n = send(k->plain, k->rest + k->rest_at, k->rest_len - k->rest_at,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    bool fine = n >= 0 || errno == EAGAIN || errno == EINTR;

    k->rest_at += n > 0 ? (size_t)n : 0;
    if (k->rest_at == k->rest_len || !fine) {
        free(k->rest);
        k->rest = NULL;
    }
    return fine;
}

static bool is_passing(ssize_t code)
{
    return code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED ||
           code == GNUTLS_E_WARNING_ALERT_RECEIVED;
}

/* GnuTLS asks for a record's head and then for the rest: reading ahead saves a system call. */
static ssize_t pull(gnutls_transport_ptr_t from, void *out, size_t len)
{
    struct link *k = from;
    ssize_t n;

    if (k->ahead_at == k->ahead_len && len < sizeof(k->ahead)) {
        n = recv(k->net, k->ahead, sizeof(k->ahead), MSG_DONTWAIT);
        if (n <= 0)
            return n;
        k->ahead_at = 0;
        k->ahead_len = (size_t)n;
    }
    if (k->ahead_at == k->ahead_len)
        return recv(k->net, out, len, MSG_DONTWAIT);
    len = min_size(len, k->ahead_len - k->ahead_at);
    memcpy(out, k->ahead + k->ahead_at, len);
    k->ahead_at += len;
    return (ssize_t)len;
}

/* Each step below returns false when the connection is over. */
static bool from_net(struct link *k)
{
    if (k->rest && !give_rest(k))
        k->net_ended = true;
    for (int i = 0;
         (i < RECORDS_PER_TURN || k->ahead_at < k->ahead_len) && !k->rest && !k->net_ended; i++) {
        ssize_t n = gnutls_record_recv(k->session, k->tls->record, RECORD_BYTES);

        if (n > 0 && !give(k, k->tls->record, (size_t)n))
            k->net_ended = true; /* nothing reads it; there may still be an answer */
        if (n == 0 || n == GNUTLS_E_PREMATURE_TERMINATION)
            net_ends(k);
        else if (n < 0)
            return is_passing(n);
        if (gnutls_record_check_pending(k->session) == 0 && k->ahead_at == k->ahead_len)
            break; /* the rest in the socket is reported again */
    }
    return true;
}

static bool flush(struct link *k)
{
    ssize_t n = gnutls_record_send(k->session, NULL, 0);

    if (n < 0)
        return is_passing(n);
    k->flushing = false;
    return true;
}

static bool to_net(struct link *k)
{
    size_t room = min_size(RECORD_BYTES, gnutls_record_get_max_size(k->session));

    if (k->flushing && !flush(k))
        return false;
    for (int i = 0; i < RECORDS_PER_TURN && !k->flushing && !k->plain_ended; i++) {
        ssize_t n = recv(k->plain, k->tls->record, room, MSG_DONTWAIT);
        ssize_t sent;

        if (n < 0 && errno != ECONNRESET) /* it closed without reading everything */
            return errno == EAGAIN || errno == EINTR;
        if (n <= 0) {
            k->plain_ended = true;
            plain_ends(k);
            break;
        }
        sent = gnutls_record_send(k->session, k->tls->record, (size_t)n);
        k->flushing = sent < 0 && is_passing(sent);
        if (sent < 0 && !k->flushing)
            return false;
        if ((size_t)n < room)
            break;
    }
    return true;
}

/* Whether the other end of the pair is closed, not just shut down for writing. */
static bool plain_is_gone(const struct link *k)
{
    return send(k->plain, "", 0, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EPIPE;
}

static bool tell_end(struct link *k)
{
    int r;

    if (!k->plain_ended || k->flushing)
        return true;
    if (!k->told_end) {
        r = gnutls_bye(k->session, GNUTLS_SHUT_WR);
        if (r < 0 && is_passing(r))
            return true; /* the timer ends it */
        k->told_end = true;
        (void)shutdown(k->net, SHUT_WR);
    }
    return !k->net_ended && !plain_is_gone(k);
}

static bool shake_hands(struct link *k)
{
    int r = gnutls_handshake(k->session);

    if (r == 0)
        k->open = true;
    if (r == 0 && k->peer)
        identify(k);
    else if (gnutls_error_is_fatal(r))
        (void)gnutls_alert_send_appropriate(k->session, r);
    return !gnutls_error_is_fatal(r);
}

/* The server may give up during the handshake: it limits slow clients. */
static bool still_wanted(const struct link *k)
{
    char byte;

    return recv(k->plain, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

static unsigned wanted_of_net(const struct link *k)
{
    if (!k->open)
        return gnutls_record_get_direction(k->session) ? LOOP_WRITABLE : LOOP_READABLE;
    return (!k->net_ended && !k->rest ? LOOP_READABLE : 0u) | (!k->net_ended ? LOOP_HANGUP : 0u) |
           (k->flushing ? LOOP_WRITABLE : 0u);
}

static unsigned wanted_of_plain(const struct link *k)
{
    if (!k->open)
        return LOOP_HANGUP;
    return (!k->plain_ended && !k->flushing ? LOOP_READABLE : 0u) | (k->rest ? LOOP_WRITABLE : 0u) |
           (k->flushing && !k->closing ? LOOP_HANGUP : 0u);
}

static bool watch_both(struct link *k)
{
    unsigned net = wanted_of_net(k), plain = wanted_of_plain(k);

    if (net != k->net_events && loop_fd_change(k->net_watch, net) < 0)
        return false;
    if (plain != k->plain_events && loop_fd_change(k->plain_watch, plain) < 0)
        return false;
    k->net_events = net;
    k->plain_events = plain;
    return true;
}

static bool wait_for_bytes(const struct link *k, int count)
{
    return setsockopt(k->net, SOL_SOCKET, SO_RCVLOWAT, &count, sizeof(count)) == 0;
}

static bool session_start(struct link *k)
{
    const struct credentials *c = current_credentials(k->tls);
    unsigned flags = GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS;

    if (!c || gnutls_init(&k->session, flags) < 0 ||
        gnutls_priority_set(k->session, k->tls->priorities) < 0 ||
        gnutls_credentials_set(k->session, GNUTLS_CRD_CERTIFICATE, c->gnutls) < 0)
        return false;
    if (k->peer)
        gnutls_certificate_server_set_request(k->session, GNUTLS_CERT_REQUEST);
    gnutls_transport_set_ptr2(k->session, k, (gnutls_transport_ptr_t)(intptr_t)k->net);
    gnutls_transport_set_pull_function(k->session, pull);
    return true;
}

/* A session takes tens of kilobytes, so a client that sends half a hello gets none. The socket is
 * reported once the requested amount is there, or nothing more will come. */
static bool hear_hello(struct link *k)
{
    unsigned char head[RECORD_HEAD_BYTES];
    int came = 0;

    if (ioctl(k->net, FIONREAD, &came) != 0 || came < k->hello_len)
        return false;
    if (k->hello_len == RECORD_HEAD_BYTES) {
        if (recv(k->net, head, sizeof(head), MSG_PEEK | MSG_DONTWAIT) != sizeof(head))
            return false;
        k->hello_len += head[3] << 8 | head[4];
        if (k->hello_len <= RECORD_HEAD_BYTES + (int)RECORD_BYTES && came < k->hello_len)
            return wait_for_bytes(k, k->hello_len);
    }
    return wait_for_bytes(k, 1) && session_start(k);
}

/* Which side was ready: reading the other would be a wasted call. */
enum side { NET, PLAIN };

static bool step(struct link *k, enum side ready)
{
    if (!k->session && ready == NET && !hear_hello(k))
        return false;
    if (!k->session)
        return still_wanted(k);
    if (!k->open && !shake_hands(k))
        return false;
    if (!k->open)
        return still_wanted(k) && watch_both(k);
    if ((ready == NET || k->rest) && !from_net(k))
        return false;
    if ((ready == PLAIN || k->flushing) && !to_net(k))
        return false;
    return tell_end(k) && watch_both(k);
}

static void net_ready(void *arg, unsigned events)
{
    struct link *k = arg;

    /* A client's hang-up is passed on at once, even if the server has unread data: it may never
     * read it. */
    if (events & LOOP_HANGUP && k->rest)
        net_ends(k);
    if (events & LOOP_HANGUP)
        k->net_events = NOT_WATCHED;
    if (!step(k, NET))
        drop(k);
}

static void plain_ready(void *arg, unsigned events)
{
    struct link *k = arg;

    if (events & LOOP_HANGUP && k->flushing)
        plain_ends(k);
    if (events & LOOP_HANGUP)
        k->plain_events = NOT_WATCHED;
    if (!step(k, PLAIN))
        drop(k);
}

static bool link_start(struct link *k)
{
    struct tls *t = k->tls;
    int on = 1;

    (void)setsockopt(k->net, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    k->hello_len = RECORD_HEAD_BYTES;
    k->net_events = LOOP_READABLE;
    k->plain_events = LOOP_HANGUP;
    if (!wait_for_bytes(k, k->hello_len))
        return false;
    k->net_watch = loop_fd_watch(t->loop, k->net, k->net_events, net_ready, k);
    k->plain_watch = loop_fd_watch(t->loop, k->plain, k->plain_events, plain_ready, k);
    return k->net_watch && k->plain_watch;
}

/* --- the thread ------------------------------------------------------------------------- */

static void take_arrived(void *arg)
{
    struct tls *t = arg;
    struct link *arrived, *next;
    bool stopping;

    pthread_mutex_lock(&t->lock);
    arrived = t->arrived;
    t->arrived = NULL;
    stopping = t->stopping;
    pthread_mutex_unlock(&t->lock);
    for (; arrived; arrived = next) {
        next = arrived->next;
        if (link_start(arrived))
            list_push(&t->links, arrived);
        else
            link_free(arrived);
    }
    if (stopping)
        loop_stop(t->loop);
}

static void *run(void *arg)
{
    struct tls *t = arg;

    loop_run(t->loop);
    return NULL;
}

/* Signals are the main thread's. */
static int start_thread(struct tls *t)
{
    sigset_t all, before;
    int r;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&t->thread, NULL, run, t);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

static bool start(struct tls *t)
{
    auto_err err = ERR_INIT;

    if (t->running)
        return true;
    if (!t->loop)
        t->loop = loop_new(&err);
    if (t->loop && !t->wake)
        t->wake = loop_wake_new(t->loop, take_arrived, t);
    if (!t->wake ||
        (!t->priorities && gnutls_priority_init(&t->priorities, PRIORITIES, NULL) < 0) ||
        start_thread(t) != 0)
        return false;
    t->running = true;
    return true;
}

bool tls_asks_clients(const struct tls *t)
{
    return t->client_ca_pem != NULL;
}

void tls_serve(struct tls *t, int connection, int plain, struct tls_peer *peer)
{
    struct link *k = start(t) ? calloc(1, sizeof(*k)) : NULL;

    if (!k) {
        (void)close(connection);
        (void)close(plain);
        return;
    }
    *k = (struct link){.tls = t, .net = connection, .plain = plain, .peer = peer};
    if (peer)
        atomic_fetch_add(&peer->references, 1);
    pthread_mutex_lock(&t->lock);
    list_push(&t->arrived, k);
    pthread_mutex_unlock(&t->lock);
    loop_wake_send(t->wake);
}

/* --- start and end ---------------------------------------------------------------------- */

struct tls *tls_new(const struct tls_options *options)
{
    struct tls *t = calloc(1, sizeof(*t));
    size_t n = 0;

    if (!t)
        return NULL;
    (void)pthread_mutex_init(&t->lock, NULL);
    arena_init(&t->arena, 8 * CERTIFICATE_PEM_LIMIT_BYTES);
    t->authority.key = arena_strdup(&t->arena, options->authority.key);
    t->authority.certificate = arena_strdup(&t->arena, options->authority.certificate);
    if (options->client_ca_pem)
        t->client_ca_pem = arena_strdup(&t->arena, options->client_ca_pem);
    for (const char *const *name = options->names; *name && n < TLS_NAMES_LIMIT; name++)
        t->names[n++] = arena_strdup(&t->arena, *name);
    if (!arena_failed(&t->arena))
        return t;
    tls_free(t);
    return NULL;
}

static void stop_thread(struct tls *t)
{
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_mutex_unlock(&t->lock);
    loop_wake_send(t->wake);
    (void)pthread_join(t->thread, NULL);
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    if (t->running)
        stop_thread(t);
    for (struct link *k = t->links, *next; k; k = next) {
        next = k->next;
        drop(k);
    }
    for (struct credentials *c = t->credentials, *older; c; c = older) {
        older = c->older;
        credentials_free(c);
    }
    if (t->priorities)
        gnutls_priority_deinit(t->priorities);
    if (t->wake)
        loop_wake_free(t->wake);
    loop_free(t->loop);
    arena_release(&t->arena);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}
