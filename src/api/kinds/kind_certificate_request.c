/* kind_certificate_request.c - requests for certificates of clients (server/signing.h). */
#include <string.h>

#include "api/columns.h"
#include "api/field_macros.h"
#include "api/object.h"
#include "api/problem.h"
#include "base/timefmt.h"

static const char *const usages[] = {"any",
                                     "cert sign",
                                     "client auth",
                                     "code signing",
                                     "content commitment",
                                     "crl sign",
                                     "data encipherment",
                                     "decipher only",
                                     "digital signature",
                                     "email protection",
                                     "encipher only",
                                     "ipsec end system",
                                     "ipsec tunnel",
                                     "ipsec user",
                                     "key agreement",
                                     "key encipherment",
                                     "microsoft sgc",
                                     "netscape sgc",
                                     "ocsp signing",
                                     "s/mime",
                                     "server auth",
                                     "signing",
                                     "timestamping",
                                     NULL};
static const char *const states[] = {"False", "True", "Unknown", NULL};

static const struct field spec_fields[] = {
    F_PLAIN(FIELD_BYTES, "request", "The request: PEM of PKCS #10, in base64.", P(1), REQUIRED),
    F_STR("signerName",
          "Who is to sign: kubernetes.io/kube-apiserver-client signs here; others are left to "
          "controllers of their own.",
          P(7), REQUIRED),
    F_INT32("expirationSeconds", "How long the certificate is to be valid.", P(8), AT_LEAST(600)),
    F_STRS("usages", "What it is for.", P(5), ONE_OF(usages)),
    F_STR("username", "Who made the request; set by the server.", P(2)),
    F_STR("uid", "UID of that user.", P(3)),
    F_STRS("groups", "Groups of that user.", P(4)),
    F_MAP(FIELD_LIST, "extra", "Additional attributes of that user.", P(6),
          .wire = FIELD_WIRE_STRINGS),
    {0}};

static const struct field condition_fields[] = {
    F_STR("type", "Approved, Denied or Failed.", P(1), REQUIRED),
    F_STR("status", "True.", P(6), ONE_OF(states)),
    F_STR("reason", "Why, in a word.", P(2)),
    F_STR("message", "Why.", P(3)),
    F_TIME("lastUpdateTime", "When it was written.", P(4)),
    F_TIME("lastTransitionTime", "When it became so.", P(5)),
    {0}};

static const struct field status_fields[] = {
    F_OBJS("conditions", condition_fields, "What was decided.", P(1), KEYED_BY("type"),
           .flags = FIELD_KEEP_UNKNOWN),
    F_PLAIN(FIELD_BYTES, "certificate", "The certificate, once it is signed: PEM, in base64.",
            P(2)),
    {0}};

static const struct field fields[] = {F_SPEC(spec_fields, REQUIRED), F_STATUS(status_fields), {0}};

static struct json *render_duration(struct arena *a, const struct json *object, int64_t now_ms)
{
    int64_t s = json_int(json_at(object, "spec", "expirationSeconds"), 0);
    char text[TIME_TEXT_SIZE];

    (void)now_ms;
    return json_new_string(a, s > 0 ? time_age(s * 1000, text) : "<none>");
}

static struct json *render_condition(struct arena *a, const struct json *object, int64_t now_ms)
{
    const struct json *status = json_get(object, "status");
    const char *state = "Pending";

    (void)now_ms;
    json_each (c, json_get(status, "conditions"))
        if (strcmp(json_get_string(c, "type", ""), "Failed") != 0)
            state = json_get_string(c, "type", "");
    if (json_find(json_get(status, "conditions"), "type", "Failed"))
        return json_new_string(a, arena_printf(a, "%s,Failed", state));
    if (*json_get_string(status, "certificate", ""))
        return json_new_string(a, arena_printf(a, "%s,Issued", state));
    return json_new_string(a, state);
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN_AGE,
    COLUMN("SignerName", "string", "Who is to sign.", .path = ".spec.signerName"),
    COLUMN("Requestor", "string", "Who asks.", .path = ".spec.username"),
    COLUMN("RequestedDuration", "string", "For how long.", .render = render_duration),
    COLUMN("Condition", "string", "What was decided.", .render = render_condition),
    {0}};

static void validate(const struct json *object, const struct json *old, struct err *err)
{
    const struct field_path at = {.name = "spec"};

    if (!old && json_len(json_at(object, "spec", "usages")) == 0)
        problem_required(err, PATH_MEMBER(&at, "usages"), 0, "");
    if (!old && !strchr(json_string(json_at(object, "spec", "signerName"), ""), '/'))
        problem_invalid(err, PATH_MEMBER(&at, "signerName"), json_at(object, "spec", "signerName"),
                        "must be a fully qualified domain and path of the form "
                        "'example.com/signer-name'");
}

const struct kind kind_certificate_request = {
    KIND_NAMES("certificates.k8s.io", "v1", "CertificateSigningRequest",
               "certificatesigningrequests", "certificatesigningrequest"),
    .short_names = (const char *const[]){"csr", NULL},
    .has_status = true,
    .doc = "CertificateSigningRequest asks for a certificate, which is signed once it is approved.",
    .fields = fields,
    .columns = columns,
    .validate = validate,
    .field_selectors = (const char *const[]){"spec.signerName", NULL}};
