/*
 * web.c - see web.h.
 *
 * Files have their hash in their name and are cached by browsers forever; the page that refers to
 * them is requested every time. The page's policy lets it load nothing from elsewhere and run only
 * its own scripts; style sheets created by scripts carry the nonce of that one answer.
 */
#include "console/web.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "console/assets.h"
#include "loop/random.h"
#include "net/gunzip.h"

#define ASSETS_PREFIX "/assets/"
#define INDEX_PATH "/index.html"
#define NONCE_MARK "{{NONCE}}"
#define ASSET_LIMIT_BYTES (8u * 1024u * 1024u) /* uncompressed */
#define PAGE_LIMIT_BYTES (256u * 1024u)

static const char left_out[] =
    "<!doctype html><html lang=en><meta charset=utf-8><title>muster</title>"
    "<p>This muster was built without its web console (CONSOLE=0).</p>"
    "<p>kubectl and the muster commands work as usual; for the console, build with npm installed: "
    "<code>make</code>.</p></html>";

/* Paths of the API and its mounts: never a page. */
static const char *const not_pages[] = {"/api",   "/apis",   "/openapi", "/version", "/healthz",
                                        "/livez", "/readyz", "/metrics", "/board",   "/console"};

static bool is_below(const char *path, const char *prefix)
{
    size_t len = strlen(prefix);

    return strncmp(path, prefix, len) == 0 && (!path[len] || path[len] == '/');
}

bool web_wants(const char *method, const char *path, const char *accept)
{
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return false;
    if (strncmp(path, ASSETS_PREFIX, strlen(ASSETS_PREFIX)) == 0)
        return true;
    for (size_t i = 0; i < ELEMS(not_pages); i++)
        if (is_below(path, not_pages[i]))
            return false;
    return accept && strstr(accept, "text/html");
}

/* --- answers ----------------------------------------------------------------------------- */

struct answer {
    int code;
    const char *type, *encoding, *etag, *cache, *policy;
    struct blob *body; /* the caller's; NULL with 200: out of memory */
};

static void reply(struct httpd_request *http, const struct answer *a)
{
    struct httpd_header headers[9];
    size_t n = 0;

    headers[n++] = (struct httpd_header){"X-Content-Type-Options", "nosniff"};
    headers[n++] = (struct httpd_header){"Referrer-Policy", "no-referrer"};
    headers[n++] = (struct httpd_header){"Vary", "Accept-Encoding"};
    if (a->cache)
        headers[n++] = (struct httpd_header){"Cache-Control", a->cache};
    if (a->encoding)
        headers[n++] = (struct httpd_header){"Content-Encoding", a->encoding};
    if (a->etag)
        headers[n++] = (struct httpd_header){"ETag", a->etag};
    if (a->policy) {
        headers[n++] = (struct httpd_header){"Content-Security-Policy", a->policy};
        headers[n++] = (struct httpd_header){"Cross-Origin-Opener-Policy", "same-origin"};
    }
    if (a->code == 200 && !a->body)
        httpd_reply(http, 503, NULL, NULL, 0, NULL);
    else
        httpd_reply(http, a->code, a->type, headers, n, a->body);
}

static void reply_text(struct httpd_request *http, int code, const char *text)
{
    struct blob *body = blob_new(text, strlen(text));

    reply(http, &(struct answer){.code = code, .type = "text/plain; charset=utf-8", .body = body});
    blob_unref(body);
}

/* --- files ------------------------------------------------------------------------------- */

static int compare_path(const void *key, const void *element)
{
    return strcmp(key, ((const struct asset *)element)->path);
}

static const struct asset *find_asset(const char *path)
{
    return bsearch(path, console_assets, console_assets_len, sizeof(*console_assets), compare_path);
}

/* Whether the client accepts this encoding: listed, and not with "q=0". */
static bool accepts(const char *header, const char *encoding)
{
    size_t len = strlen(encoding);

    for (const char *at = header; at && (at = strcasestr(at, encoding)); at += len) {
        bool begins = at == header || strchr(", \t", at[-1]);
        const char *rest = at + len + strspn(at + len, " \t");

        if (begins && (!*rest || *rest == ',' || *rest == ';')) {
            rest += strspn(rest, "; \t");
            return strncasecmp(rest, "q=0", 3) != 0 || strpbrk(rest + 3, "123456789");
        }
    }
    return false;
}

/* "/assets/name.HASH.js" never changes; "/assets/THIRD_PARTY.txt" may. */
static bool is_hashed(const char *path)
{
    return strchr(path, '.') != strrchr(path, '.');
}

static void reply_asset(struct httpd_request *http, const struct asset *a)
{
    const char *encodings = httpd_header(http, "Accept-Encoding");
    const char *known = httpd_header(http, "If-None-Match");
    struct answer answer = {.code = 200,
                            .type = a->type,
                            .etag = a->etag,
                            .cache = is_hashed(a->path) ? "public, max-age=31536000, immutable"
                                                        : "no-cache"};

    if (known && strstr(known, a->etag)) {
        answer.code = 304;
    } else if (a->br && accepts(encodings, "br")) {
        answer.encoding = "br";
        answer.body = blob_new(a->br, (size_t)(a->br_end - a->br));
    } else if (a->gz && accepts(encodings, "gzip")) {
        answer.encoding = "gzip";
        answer.body = blob_new(a->gz, (size_t)(a->gz_end - a->gz));
    } else if (a->raw) {
        answer.body = blob_new(a->raw, (size_t)(a->raw_end - a->raw));
    } else {
        answer.body = gunzip(a->gz, (size_t)(a->gz_end - a->gz), ASSET_LIMIT_BYTES);
    }
    reply(http, &answer);
    blob_unref(answer.body);
}

/* --- the page ---------------------------------------------------------------------------- */

static struct blob *page_with_nonce(const struct asset *page, const char *nonce)
{
    size_t len = (size_t)(page->raw_end - page->raw);
    const char *text = (const char *)page->raw, *mark;
    struct buf b = BUF_INIT(PAGE_LIMIT_BYTES);
    struct blob *body;

    while ((mark = memmem(text, len, NONCE_MARK, strlen(NONCE_MARK)))) {
        buf_add(&b, text, (size_t)(mark - text));
        buf_adds(&b, nonce);
        len -= (size_t)(mark - text) + strlen(NONCE_MARK);
        text = mark + strlen(NONCE_MARK);
    }
    buf_add(&b, text, len);
    body = blob_from_buf(&b);
    buf_release(&b);
    return body;
}

static void reply_page(struct httpd_request *http)
{
    const struct asset *page = find_asset(INDEX_PATH);
    char nonce[RANDOM_UID_SIZE], policy[512];
    struct answer answer = {
        .code = 200, .type = "text/html; charset=utf-8", .cache = "no-cache", .policy = policy};

    random_uid(nonce);
    (void)snprintf(policy, sizeof(policy),
                   "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src "
                   "'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; "
                   "form-action 'self'; frame-ancestors 'none'",
                   nonce);
    answer.body = page && page->raw ? page_with_nonce(page, nonce)
                                    : blob_new(left_out, strlen(left_out));
    reply(http, &answer);
    blob_unref(answer.body);
}

const char *web_hash(void)
{
    return console_hash;
}

void web_handle(void *arg, const struct mount_request *r)
{
    struct httpd_request *http = r->http;

    (void)arg;
    if (strncmp(http->path, ASSETS_PREFIX, strlen(ASSETS_PREFIX)) != 0) {
        reply_page(http);
    } else {
        const struct asset *a = find_asset(http->path);

        if (a)
            reply_asset(http, a);
        else
            reply_text(http, 404, "there is no such file in this version of the console\n");
    }
}
