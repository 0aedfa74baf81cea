/*
 * tokens.c - see tokens.h, and POST serviceaccounts/NAME/token. The text is a JWT (RFC 7519) signed
 * with HMAC-SHA256, because clients like to inspect theirs; we only accept what we signed, so the
 * header is compared, not parsed.
 */
#include "server/tokens.h"

#include <inttypes.h>
#include <string.h>

#include "base/base64.h"
#include "base/secret.h"
#include "base/timefmt.h"
#include "server/machine_access.h"

#define HEADER "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" /* {"alg":"HS256","typ":"JWT"} */
#define KEY_PURPOSE "muster service account tokens"
#define ISSUER "muster"
#define TOKEN_LIMIT_BYTES 8192u
#define AUDIENCES_LIMIT 16
#define AUDIENCE_LIMIT_BYTES 256
#define SECONDS_DEFAULT 3600
#define SECONDS_MIN 600
#define SECONDS_MAX ((int64_t)1 << 32)

void tokens_set_secret(struct server *s, const char *secret)
{
    hmac_sha256(secret, strlen(secret), KEY_PURPOSE, strlen(KEY_PURPOSE), s->token_key);
    s->has_token_key = true;
}

/* --- text ------------------------------------------------------------------------------ */

static char *sign(const struct server *s, struct arena *a, const char *text, size_t len)
{
    unsigned char mac[SHA256_BYTES];

    hmac_sha256(s->token_key, sizeof(s->token_key), text, len, mac);
    return base64url_encode(a, mac, sizeof(mac));
}

const char *token_sign(struct server *s, struct arena *a, const char *text)
{
    return sign(s, a, text, strlen(text));
}

bool token_digest(struct server *s, const char *purpose, const char *text, size_t len,
                  unsigned char out[SHA256_BYTES])
{
    unsigned char key[SHA256_BYTES];

    if (!s->has_token_key)
        return false;
    hmac_sha256(s->token_key, sizeof(s->token_key), purpose, strlen(purpose), key);
    hmac_sha256(key, sizeof(key), text, len, out);
    return true;
}

/* --- reading --------------------------------------------------------------------------- */

static const struct json *parse_claims(struct arena *a, const char *encoded, size_t encoded_len)
{
    size_t len;
    char *text = base64url_decode(a, encoded, encoded_len, &len);

    return text ? json_parse(a, text, len, NULL) : NULL;
}

static const struct json *read_claims(struct server *s, struct arena *a, const char *token)
{
    const char *dot = strrchr(token, '.');
    const char *begin = token + strlen(HEADER ".");
    const char *signature;

    if (!s->has_token_key || strlen(token) > TOKEN_LIMIT_BYTES ||
        strncmp(token, HEADER ".", strlen(HEADER ".")) != 0 || !dot || dot < begin)
        return NULL;
    signature = sign(s, a, token, (size_t)(dot - token));
    if (!signature || !secret_equal(signature, dot + 1))
        return NULL;
    return parse_claims(a, begin, (size_t)(dot - begin));
}

/* Whether the object is still the one the token was issued for. */
static bool is_there(struct server *s, struct arena *a, const struct kind *k, const char *ns,
                     const char *name, const char *uid)
{
    const char *key = object_key(a, k, ns, name);
    const struct store_item *item = key ? store_head(server_collection(s, k), key) : NULL;
    const struct json *object = item ? blob_parse(a, item->value, NULL) : NULL;

    return object && strcmp(object_uid(object), uid) == 0;
}

bool token_is_still_good(struct server *s, struct arena *a, const struct caller *account)
{
    return account->until_ms > clock_now_ms(s->clock) &&
           is_there(s, a, &kind_service_account, account->ns, account->name, account->uid) &&
           (!*account->pod_uid ||
            is_there(s, a, &kind_pod, account->ns, account->pod, account->pod_uid));
}

static const struct caller *caller_of(struct server *s, struct arena *a, const struct json *claims)
{
    const struct json *about = json_get(claims, "kubernetes.io");
    const struct json *account = json_get(about, "serviceaccount"), *pod = json_get(about, "pod");
    struct caller *who = arena_alloc(a, sizeof(*who));

    if (!claims || !who)
        return NULL;
    *who = (struct caller){.kind = CALLER_ACCOUNT,
                           .ns = json_get_string(about, "namespace", ""),
                           .name = json_get_string(account, "name", ""),
                           .uid = json_get_string(account, "uid", ""),
                           .user = json_get_string(claims, "sub", ""),
                           .pod = json_get_string(pod, "name", ""),
                           .pod_uid = json_get_string(pod, "uid", ""),
                           .until_ms = json_get_int(claims, "exp", 0) * 1000};
    who->groups = caller_account_groups(a, who->ns);
    return who->groups && token_is_still_good(s, a, who) ? who : NULL;
}

/* The default audience of tokens and reviews: this API. */
static struct json *api_audiences(struct arena *a)
{
    static const char *const names[] = {"https://kubernetes.default.svc",
                                        "https://kubernetes.default.svc.cluster.local", ISSUER};
    struct json *list = json_new_array(a);

    for (size_t i = 0; i < ELEMS(names); i++)
        json_append_string(a, list, names[i]);
    return list;
}

/* Those of wanted that the token is for; NULL when there are none. */
static const struct json *audiences_met(struct arena *a, const struct json *of_token,
                                        const struct json *wanted)
{
    struct json *met = json_new_array(a);

    if (json_len(of_token) == 0)
        of_token = api_audiences(a);
    if (json_len(wanted) == 0)
        wanted = api_audiences(a);
    json_each (one, wanted) {
        bool found = false;

        json_each (other, of_token)
            found = found || json_equal(one, other);
        if (found)
            json_append_string(a, met, json_string(one, ""));
    }
    return json_len(met) > 0 ? met : NULL;
}

const struct caller *token_caller(struct server *s, struct arena *a, const char *token)
{
    const struct json *claims = read_claims(s, a, token);

    return claims && audiences_met(a, json_get(claims, "aud"), NULL) ? caller_of(s, a, claims)
                                                                     : NULL;
}

const struct caller *token_caller_for(struct server *s, struct arena *a, const char *token,
                                      const struct json *audiences, const struct json **ret_for)
{
    const struct json *claims = read_claims(s, a, token);
    const struct caller *who = claims ? caller_of(s, a, claims) : NULL;

    if (s->token && secret_equal(s->token, token))
        who = &caller_owner;
    *ret_for = audiences_met(a, json_get(claims, "aud"), audiences);
    return *ret_for ? who : NULL;
}

const char *token_name(struct arena *a, const char *token)
{
    const char *begin = token + strlen(HEADER ".");

    return arena_strndup(a, begin, strcspn(begin, "."));
}

const struct caller *token_caller_named(struct server *s, struct arena *a, const char *name)
{
    return caller_of(s, a, parse_claims(a, name, strlen(name)));
}

/* --- issuing --------------------------------------------------------------------------- */

static void set_object(struct arena *a, struct json *about, const char *key, const char *name,
                       const char *uid)
{
    struct json *v = json_make_object(a, about, key);

    json_set_string(a, v, "name", name);
    json_set_string(a, v, "uid", uid);
}

static const char *make_token(struct server_request *r, const struct json *account,
                              const struct json *pod, const struct json *audiences, int64_t seconds)
{
    int64_t now = clock_now_ms(r->server->clock) / 1000;
    struct json *claims = json_new_object(r->arena), *about;
    struct buf text = BUF_INIT(TOKEN_LIMIT_BYTES);
    const char *body = NULL, *head, *signature;

    json_set_string(r->arena, claims, "iss", ISSUER);
    json_set_stringf(r->arena, claims, "sub", "system:serviceaccount:%s:%s", r->route.ns,
                     r->route.name);
    json_set(r->arena, claims, "aud", json_clone(r->arena, audiences));
    json_set_int(r->arena, claims, "iat", now);
    json_set_int(r->arena, claims, "nbf", now);
    json_set_int(r->arena, claims, "exp", now + seconds);
    about = json_make_object(r->arena, claims, "kubernetes.io");
    json_set_string(r->arena, about, "namespace", r->route.ns);
    set_object(r->arena, about, "serviceaccount", r->route.name, object_uid(account));
    if (pod)
        set_object(r->arena, about, "pod", object_name(pod), object_uid(pod));
    json_write(&text, claims);
    if (!text.failed)
        body = base64url_encode(r->arena, text.data, text.len);
    buf_release(&text);
    head = body ? arena_printf(r->arena, "%s.%s", HEADER, body) : NULL;
    signature = head ? sign(r->server, r->arena, head, strlen(head)) : NULL;
    return signature ? arena_printf(r->arena, "%s.%s", head, signature) : NULL;
}

static int invalid(struct err *err, const char *name, const char *field, const char *says)
{
    err_set(err, ERR_INVALID, "TokenRequest.authentication.k8s.io \"%s\" is invalid: %s: %s", name,
            field, says);
    err_cause(err, "FieldValueInvalid", field, 0, "%s", says);
    return err_errno(ERR_INVALID);
}

static int read_seconds(struct server_request *r, const struct json *spec, int64_t *ret,
                        struct err *err)
{
    *ret = json_get_int(spec, "expirationSeconds", SECONDS_DEFAULT);
    if (*ret < SECONDS_MIN)
        return invalid(err, r->route.name, "spec.expirationSeconds",
                       "Invalid value: may not specify a duration less than 10 minutes");
    if (*ret > SECONDS_MAX)
        return invalid(err, r->route.name, "spec.expirationSeconds",
                       "Invalid value: may not specify a duration larger than 2^32 seconds");
    return 0;
}

static int read_audiences(struct server_request *r, const struct json *spec,
                          const struct json **ret, struct err *err)
{
    const struct json *given = json_get(spec, "audiences");

    *ret = json_len(given) > 0 ? given : api_audiences(r->arena);
    if (json_len(given) > AUDIENCES_LIMIT)
        return invalid(err, r->route.name, "spec.audiences",
                       "Too many: must have at most " STRINGIFY(AUDIENCES_LIMIT) " items");
    json_each (one, given) {
        size_t len = strlen(json_string(one, ""));

        if (len == 0 || len > AUDIENCE_LIMIT_BYTES)
            return invalid(err, r->route.name, "spec.audiences",
                           "Invalid value: each must be a string of 1 to " STRINGIFY(
                               AUDIENCE_LIMIT_BYTES) " bytes");
    }
    return 0;
}

static int find_pod(struct server_request *r, const struct json *ref, const struct json **ret,
                    struct err *err)
{
    const char *name = json_get_string(ref, "name", ""), *uid = json_get_string(ref, "uid", "");
    const char *key = object_key(r->arena, &kind_pod, r->route.ns, name);
    const struct store_item *item;

    if (!json_string_is(json_get(ref, "kind"), "Pod"))
        return invalid(err, r->route.name, "spec.boundObjectRef.kind",
                       "Unsupported value: tokens can be bound to a Pod");
    item = key ? store_head(server_collection(r->server, &kind_pod), key) : NULL;
    if (!item)
        return not_found(err, &kind_pod, name);
    *ret = blob_parse(r->arena, item->value, err);
    if (!*ret)
        return -1;
    if (*uid && strcmp(uid, object_uid(*ret)) != 0)
        return err_set(err, ERR_CONFLICT,
                       "Operation cannot be fulfilled on pods \"%s\": the UID in the bound object "
                       "reference (%s) does not match the UID in record",
                       name, uid);
    if (strcmp(json_string(json_at(*ret, "spec", "serviceAccountName"), "default"),
               r->route.name) != 0)
        return err_set(err, ERR_BAD_REQUEST,
                       "cannot bind token for serviceaccount \"%s\" to pod running with different "
                       "serviceaccount name",
                       r->route.name);
    return machine_access_enter(r, *ret, err);
}

static int answer(struct server_request *r, struct json *request, const char *token,
                  const struct json *audiences, int64_t seconds, struct err *err)
{
    struct json *status = json_make_object(r->arena, request, "status"), *meta, *spec;
    char until[TIME_TEXT_SIZE];

    if (!token)
        return out_of_memory(err);
    json_set_string(r->arena, request, "kind", "TokenRequest");
    json_set_string(r->arena, request, "apiVersion", "authentication.k8s.io/v1");
    meta = json_make_object(r->arena, request, "metadata");
    json_set_string(r->arena, meta, "name", r->route.name);
    json_set_string(r->arena, meta, "namespace", r->route.ns);
    spec = json_make_object(r->arena, request, "spec");
    json_set_int(r->arena, spec, "expirationSeconds", seconds);
    json_set(r->arena, spec, "audiences", json_clone(r->arena, audiences));
    json_set_string(r->arena, status, "token", token);
    json_set_string(r->arena, status, "expirationTimestamp",
                    time_format(clock_now_ms(r->server->clock) + seconds * 1000, until));
    reply_json(r, 201, request);
    return 0;
}

int verb_token(struct server_request *r, struct err *err)
{
    struct json *request = object_parse(r->arena, &kind_token_request, r->content_type, r->body,
                                        r->body_len, request_warn, r, err);
    const struct json *account, *pod = NULL, *spec, *ref, *audiences = NULL;
    const struct store_item *item;
    const char *key;
    int64_t seconds;
    int rc;

    if (!request)
        return -1;
    if (!json_is(request, JSON_OBJECT) ||
        strcmp(json_get_string(request, "kind", "TokenRequest"), "TokenRequest") != 0)
        return err_set(err, ERR_BAD_REQUEST, "a TokenRequest object is expected here");
    if (!r->server->has_token_key)
        return err_set(err, ERR_UNAVAILABLE, "the server has no secret to sign tokens with");
    account = request_load(r, &key, &item, err);
    if (!account)
        return -1;
    spec = json_get(request, "spec");
    ref = json_get(spec, "boundObjectRef");
    rc = read_seconds(r, spec, &seconds, err);
    if (rc == 0)
        rc = read_audiences(r, spec, &audiences, err);
    if (rc == 0 && json_is(ref, JSON_OBJECT))
        rc = find_pod(r, ref, &pod, err);
    return rc < 0 ? rc
                  : answer(r, request, make_token(r, account, pod, audiences, seconds), audiences,
                           seconds, err);
}
