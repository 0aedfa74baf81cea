/* reach.c - see reach.h. */
#include "net/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

static void drop_pem(struct reach_kept *k, int which)
{
    if (k->fds[which] >= 0)
        (void)close(k->fds[which]);
    k->fds[which] = -1;
}

static int keep_pem(struct reach_kept *k, int which, const char *text, struct err *err)
{
    size_t len = text ? strlen(text) : 0;
    int fd;

    if (!text)
        return 0;
    fd = memfd_create("pem", MFD_CLOEXEC);
    if (fd < 0 || write(fd, text, len) != (ssize_t)len) {
        if (fd >= 0)
            (void)close(fd);
        return err_set(err, ERR_INTERNAL, "certificates cannot be kept in memory");
    }
    drop_pem(k, which);
    k->fds[which] = fd;
    (void)snprintf(k->paths[which], REACH_PATH_SIZE, "/proc/self/fd/%d", fd);
    return 0;
}

/* ":host:port:" in libcurl's syntax: applies to any URL. */
static int keep_address(struct reach_kept *k, const char *address)
{
    char *text = NULL;

    if (!address)
        return 0;
    if (asprintf(&text, "::%s", address) < 0)
        return -1;
    k->connect_to = k->curl->slist_append(NULL, text);
    free(text);
    return k->connect_to ? 0 : -1;
}

int reach_keep(struct reach_kept *k, const struct curl_library *curl, const struct reach *r,
               struct err *err)
{
    *k = (struct reach_kept){.curl = curl, .insecure = r->insecure};
    for (int i = 0; i < REACH_PEMS; i++)
        k->fds[i] = -1;
    k->proxy = r->proxy ? strdup(r->proxy) : NULL;
    if ((r->proxy && !k->proxy) || keep_address(k, r->connect_to) < 0)
        return err_set(err, ERR_INTERNAL, "out of memory");
    if (keep_pem(k, REACH_CA, r->ca_pem, err) < 0)
        return -1;
    return reach_identify(k, r->cert_pem, r->key_pem, err);
}

int reach_identify(struct reach_kept *k, const char *cert_pem, const char *key_pem, struct err *err)
{
    return keep_pem(k, REACH_CERT, cert_pem, err) < 0 || keep_pem(k, REACH_KEY, key_pem, err) < 0
               ? -1
               : 0;
}

void reach_release(struct reach_kept *k)
{
    if (!k->curl)
        return;
    for (int i = 0; i < REACH_PEMS; i++)
        drop_pem(k, i);
    k->curl->slist_free_all(k->connect_to);
    free(k->proxy);
    *k = (struct reach_kept){0};
}

/* A proxy from the environment is for other machines, never for this one. */
static bool is_loopback(const char *url)
{
    static const char *const hosts[] = {"127.", "localhost", "[::1]"};
    const char *host = strstr(url, "://");

    for (size_t i = 0; host && i < ELEMS(hosts); i++)
        if (strncasecmp(host + 3, hosts[i], strlen(hosts[i])) == 0)
            return true;
    return false;
}

static void set_way(const struct reach_kept *k, CURL *easy, const char *url)
{
    if (k->proxy) {
        (void)k->curl->easy_setopt(easy, CURLOPT_PROXY, k->proxy);
        (void)k->curl->easy_setopt(easy, CURLOPT_NOPROXY, ""); /* ignore the environment */
    } else if (is_loopback(url)) {
        (void)k->curl->easy_setopt(easy, CURLOPT_PROXY, "");
    }
    if (k->connect_to)
        (void)k->curl->easy_setopt(easy, CURLOPT_CONNECT_TO, k->connect_to);
}

void reach_apply(const struct reach_kept *k, CURL *easy, const char *url)
{
    static const CURLoption options[REACH_PEMS] = {CURLOPT_CAINFO, CURLOPT_SSLCERT, CURLOPT_SSLKEY};

    set_way(k, easy, url);
    for (int i = 0; i < REACH_PEMS; i++)
        if (k->fds[i] >= 0)
            (void)k->curl->easy_setopt(easy, options[i], k->paths[i]);
    /* With our own CA, or unchecked, skip the system's: reading its hundred authorities takes
     * longer than a handshake. */
    if (k->fds[REACH_CA] >= 0 || k->insecure)
        (void)k->curl->easy_setopt(easy, CURLOPT_CAPATH, NULL);
    if (!k->insecure)
        return;
    (void)k->curl->easy_setopt(easy, CURLOPT_CAINFO, NULL);
    (void)k->curl->easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    (void)k->curl->easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
}
