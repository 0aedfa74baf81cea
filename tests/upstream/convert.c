/* convert.c - convert json|protobuf GROUP/VERSION/KIND: an object from stdin to stdout in the other
 * encoding. */
#include <stdio.h>
#include <string.h>

#include "api/protobuf.h"

#define LIMIT_BYTES (64u << 20)

static const struct kind *find(const struct kind *const *list, const char *wanted)
{
    char id[256];

    for (; *list; list++) {
        (void)snprintf(id, sizeof(id), "%s/%s/%s", (*list)->group, (*list)->version, (*list)->name);
        if (strcmp(id, wanted) == 0)
            return *list;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static char data[LIMIT_BYTES];
    struct arena a = ARENA_INIT(LIMIT_BYTES * 8u - 1);
    struct buf out = BUF_INIT(LIMIT_BYTES);
    size_t len = fread(data, 1, sizeof(data), stdin);
    const struct kind *k = argc == 3 ? find(kinds, argv[2]) : NULL;
    auto_err err = ERR_INIT;
    struct json *v;

    if (argc == 3 && !k)
        k = find(message_kinds, argv[2]);
    if (!k) {
        (void)fprintf(stderr, "usage: convert json|protobuf GROUP/VERSION/KIND\n");
        return 2;
    }
    if (strcmp(argv[1], "json") == 0) {
        v = protobuf_parse(&a, k, data, len, NULL, NULL, &err);
        if (v)
            json_write(&out, v);
    } else {
        v = json_parse(&a, data, len, &err);
        if (v)
            protobuf_write(&out, &a, k, v);
    }
    if (!v || out.failed) {
        (void)fprintf(stderr, "%s\n", v ? "out of memory" : err.text);
        return 1;
    }
    (void)fwrite(out.data, 1, out.len, stdout);
    buf_release(&out);
    arena_release(&a);
    return 0;
}
