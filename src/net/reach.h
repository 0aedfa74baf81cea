/* reach.h - how to reach and trust a server: certificates and proxies. */
#ifndef MUSTER_NET_REACH_H
#define MUSTER_NET_REACH_H

#include "net/curl_library.h"

/* Unset members are NULL. */
struct reach {
    const char *ca_pem;             /* NULL: the system's authorities */
    const char *cert_pem, *key_pem; /* our own certificate */
    bool insecure;                  /* do not check the server's certificate */
    const char *proxy;      /* "http://host:port"; NULL: from the environment, but never for this
                             * machine */
    const char *connect_to; /* "host:port" to connect to instead of the URL's; the certificate must
                             * still match the URL */
};

/* The same in libcurl's form, for as long as it is in use. */
enum { REACH_CA, REACH_CERT, REACH_KEY, REACH_PEMS };
#define REACH_PATH_SIZE 32
struct reach_kept {
    const struct curl_library *curl;
    int fds[REACH_PEMS]; /* nameless files: this libcurl only takes paths */
    char paths[REACH_PEMS][REACH_PATH_SIZE];
    bool insecure;
    char *proxy;
    struct curl_slist *connect_to;
};

int reach_keep(struct reach_kept *k, const struct curl_library *curl, const struct reach *r,
               struct err *err) must_check;
/* Uses another client certificate for new connections. */
int reach_identify(struct reach_kept *k, const char *cert_pem, const char *key_pem,
                   struct err *err) must_check;
void reach_release(struct reach_kept *k);
void reach_apply(const struct reach_kept *k, CURL *easy, const char *url);

#endif
