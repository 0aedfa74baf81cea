/*
 * curl_library.c - loads libcurl (the GnuTLS build, which has its own name in Debian). Never
 * unloaded, because its TLS library does not survive that.
 */
#include "net/curl_library.h"

#include <dlfcn.h>
#include <string.h>

#define LIBRARY_FILE "libcurl-gnutls.so.4"
#define LIBRARY_PACKAGE "libcurl3-gnutls"

struct symbol {
    const char *name;
    size_t offset;
};

static const struct symbol symbols[] = {
#define CURL_SYMBOL(member, symbol) {#symbol, offsetof(struct curl_library, member)},
    CURL_FUNCTIONS(CURL_SYMBOL)
#undef CURL_SYMBOL
};

static int find_symbols(void *handle, struct curl_library *lib, const char *file, struct err *err)
{
    for (size_t i = 0; i < ELEMS(symbols); i++) {
        void *address = dlsym(handle, symbols[i].name);

        if (!address)
            return err_set(err, ERR_UNAVAILABLE, "%s has no function %s", file, symbols[i].name);
        memcpy((char *)lib + symbols[i].offset, &address, sizeof(address));
    }
    return 0;
}

const struct curl_library *curl_library_load_file(const char *file, struct err *err)
{
    static struct curl_library library;
    static bool loaded;
    struct curl_library found = {0};
    void *handle;

    if (loaded && strcmp(file, LIBRARY_FILE) == 0)
        return &library;
    handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        err_set(err, ERR_UNAVAILABLE, "HTTP needs libcurl, which cannot be loaded: %s", dlerror());
        err_hint(err, "install the Debian package " LIBRARY_PACKAGE);
        return NULL;
    }
    if (find_symbols(handle, &found, file, err) < 0) {
        err_hint(err, "install the Debian package " LIBRARY_PACKAGE);
        dlclose(handle);
        return NULL;
    }
    if (!found.global_init || found.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        err_set(err, ERR_INTERNAL, "libcurl could not be initialised");
        return NULL;
    }
    library = found;
    loaded = true;
    return &library;
}

const struct curl_library *curl_library_load(struct err *err)
{
    return curl_library_load_file(LIBRARY_FILE, err);
}
