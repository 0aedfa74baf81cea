/* reach.h - how a server is reached and trusted: certificates and proxies. */
#ifndef MUSTER_NET_REACH_H
#define MUSTER_NET_REACH_H

#include "net/curl_library.h"

/* Absent things are NULL. */
struct reach {
    const char *ca_pem;             /* NULL: the system's authorities */
    const char *cert_pem, *key_pem; /* our own certificate */
    bool insecure;                  /* the server's certificate is not checked */
    const char *proxy;      /* "http://host:port"; NULL: as the environment says, but none for this
                               machine */
    const char *connect_to; /* "host:port" instead of the URL's, whose name the certificate has */
};

/* The same as libcurl takes it, for as long as anything uses it. */
enum { REACH_CA, REACH_CERT, REACH_KEY, REACH_PEMS };
#define REACH_PATH_SIZE 32
struct reach_kept {
    const struct curl_library *curl;
    int fds[REACH_PEMS]; /* files without a name: this libcurl takes paths only */
    char paths[REACH_PEMS][REACH_PATH_SIZE];
    bool insecure;
    char *proxy;
    struct curl_slist *connect_to;
};

int reach_keep(struct reach_kept *k, const struct curl_library *curl, const struct reach *r,
               struct err *err) must_check;
/* Another certificate of ours, for connections from now on. */
int reach_identify(struct reach_kept *k, const char *cert_pem, const char *key_pem,
                   struct err *err) must_check;
void reach_release(struct reach_kept *k);
void reach_apply(const struct reach_kept *k, CURL *easy, const char *url);

#endif
