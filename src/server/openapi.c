/*
 * openapi.c - /openapi/v2, as JSON or as protobuf for kubectl, and /openapi/v3, an index and one
 * document per group and version. Clients cache documents by the hash in their URL.
 */
#include <inttypes.h>
#include <string.h>

#include "api/schema.h"
#include "base/hash.h"
#include "server/internal.h"

#define DOCUMENT_LIMIT_BYTES (32u * 1024u * 1024u)
/* With a dot where the client's Accept has '@', like the real server. */
#define V2_TYPE "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

int verb_openapi_v2(struct server_request *r, struct err *err)
{
    bool protobuf = r->accept && strstr(r->accept, "application/com.github.proto-openapi.spec.v2");
    struct arena a = ARENA_INIT(DOCUMENT_LIMIT_BYTES);
    struct buf b = BUF_INIT(DOCUMENT_LIMIT_BYTES);
    struct json *document = schema_openapi_v2(&a, r->server->described);

    (void)err;
    if (protobuf)
        schema_openapi_v2_encode(document, &b);
    else
        json_write(&b, document);
    b.failed |= arena_failed(&a);
    arena_release(&a);
    reply_buf(r, 200, protobuf ? V2_TYPE : JSON_TYPE, &b);
    return 0;
}

static bool first_of_version(const struct server *s, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(s->described[i]->group, s->described[at]->group) == 0 &&
            strcmp(s->described[i]->version, s->described[at]->version) == 0)
            return false;
    return true;
}

/* Once per list of kinds. */
static uint64_t hash_of(struct server *s, size_t at)
{
    struct arena a = ARENA_INIT(DOCUMENT_LIMIT_BYTES);
    struct buf b = BUF_INIT(DOCUMENT_LIMIT_BYTES);

    if (s->openapi_hashes[at])
        return s->openapi_hashes[at];
    json_write(&b, schema_openapi_v3(&a, s->described, s->described[at]->group,
                                     s->described[at]->version));
    if (!b.failed && !arena_failed(&a))
        s->openapi_hashes[at] = fnv1a_64(FNV1A_64_START, b.data, b.len);
    buf_release(&b);
    arena_release(&a);
    return s->openapi_hashes[at];
}

int verb_openapi_v3(struct server_request *r, struct err *err)
{
    struct json *index = json_new_object(r->arena), *paths, *entry;

    (void)err;
    paths = json_make_object(r->arena, index, "paths");
    for (size_t i = 0; r->server->described[i]; i++) {
        const char *path;

        if (!first_of_version(r->server, i))
            continue;
        path = *r->server->described[i]->group
                   ? arena_printf(r->arena, "apis/%s/%s", r->server->described[i]->group,
                                  r->server->described[i]->version)
                   : arena_printf(r->arena, "api/%s", r->server->described[i]->version);
        if (!path)
            return out_of_memory(err);
        entry = json_make_object(r->arena, paths, path);
        json_set_stringf(r->arena, entry, "serverRelativeURL", "/openapi/v3/%s?hash=%016" PRIX64,
                         path, hash_of(r->server, i));
    }
    reply_json(r, 200, index);
    return 0;
}

int openapi_v3_document(struct server_request *r, const char *path, struct err *err)
{
    struct json *document = NULL;
    const char *slash;

    if (strcmp(r->method, "GET") != 0)
        return err_set(err, ERR_METHOD_NOT_ALLOWED, "only GET is allowed here");
    if (strncmp(path, "api/", 4) == 0) {
        document = schema_openapi_v3(r->arena, r->server->described, "", path + 4);
    } else if (strncmp(path, "apis/", 5) == 0 && (slash = strchr(path + 5, '/'))) {
        const char *group = arena_strndup(r->arena, path + 5, (size_t)(slash - path - 5));

        if (group)
            document = schema_openapi_v3(r->arena, r->server->described, group, slash + 1);
    }
    if (!document && !arena_failed(r->arena))
        return err_set(err, ERR_NOT_FOUND, "the server could not find the requested resource");
    reply_json(r, 200, document);
    return 0;
}
