/* curl_library.h - libcurl's functions, loaded at run time. Nothing else in the tree calls them. */
#ifndef MUSTER_NET_CURL_LIBRARY_H
#define MUSTER_NET_CURL_LIBRARY_H

#include <curl/curl.h>

#include "base/err.h"

/* One line per function: the member, and its symbol. */
#define CURL_FUNCTIONS(X)                                                                          \
    X(global_init, curl_global_init)                                                               \
    X(slist_append, curl_slist_append)                                                             \
    X(slist_free_all, curl_slist_free_all)                                                         \
    X(easy_init, curl_easy_init)                                                                   \
    X(easy_cleanup, curl_easy_cleanup)                                                             \
    X(easy_setopt, curl_easy_setopt)                                                               \
    X(easy_getinfo, curl_easy_getinfo)                                                             \
    X(easy_strerror, curl_easy_strerror)                                                           \
    X(easy_perform, curl_easy_perform)                                                             \
    X(easy_pause, curl_easy_pause)                                                                 \
    X(easy_send, curl_easy_send)                                                                   \
    X(easy_recv, curl_easy_recv)                                                                   \
    X(multi_init, curl_multi_init)                                                                 \
    X(multi_cleanup, curl_multi_cleanup)                                                           \
    X(multi_setopt, curl_multi_setopt)                                                             \
    X(multi_add_handle, curl_multi_add_handle)                                                     \
    X(multi_remove_handle, curl_multi_remove_handle)                                               \
    X(multi_socket_action, curl_multi_socket_action)                                               \
    X(multi_assign, curl_multi_assign)                                                             \
    X(multi_info_read, curl_multi_info_read)

struct curl_library {
#define CURL_MEMBER(member, symbol) __typeof__(&symbol) member;
    CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

/* Loaded on the first call and kept. NULL on failure: err names the package to install. */
const struct curl_library *curl_library_load(struct err *err) must_check;
/* For tests: loads the given file instead of the usual one. */
const struct curl_library *curl_library_load_file(const char *file, struct err *err) must_check;

#endif
