/* certificate.c - see certificate.h. GnuTLS does the work. */
#include "net/certificate.h"

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>

#include "base/base64.h"

#define DAY_S ((int64_t)24 * 3600)
#define SERIAL_BYTES 16
#define KEY_ID_BYTES 64
#define OWNER "muster"

static int failed(struct err *err, const char *what, int code)
{
    return err_set(err, ERR_INTERNAL, "cannot %s: %s", what, gnutls_strerror(code));
}

static gnutls_datum_t datum_of(const char *text)
{
    return (gnutls_datum_t){.data = (unsigned char *)text, .size = (unsigned)strlen(text)};
}

static int read_key(const char *pem, gnutls_x509_privkey_t *ret)
{
    gnutls_datum_t text = datum_of(pem);
    int r = gnutls_x509_privkey_init(ret);

    return r < 0 ? r : gnutls_x509_privkey_import(*ret, &text, GNUTLS_X509_FMT_PEM);
}

static int read_certificate(const char *pem, gnutls_x509_crt_t *ret)
{
    gnutls_datum_t text = datum_of(pem);
    int r = gnutls_x509_crt_init(ret);

    return r < 0 ? r : gnutls_x509_crt_import(*ret, &text, GNUTLS_X509_FMT_PEM);
}

static int new_key(gnutls_x509_privkey_t *ret)
{
    int r = gnutls_x509_privkey_init(ret);

    return r < 0 ? r
                 : gnutls_x509_privkey_generate(
                       *ret, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
}

static int write_key(gnutls_x509_privkey_t key, struct buf *out)
{
    gnutls_datum_t text = {0};
    int r = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN,
                                              &text);

    if (r == 0)
        buf_add(out, text.data, text.size);
    gnutls_free(text.data);
    return r;
}

static int write_certificate(gnutls_x509_crt_t certificate, struct buf *out)
{
    gnutls_datum_t text = {0};
    int r = gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &text);

    if (r == 0)
        buf_add(out, text.data, text.size);
    gnutls_free(text.data);
    return r;
}

/* Common to both kinds. Valid from a day earlier, because clocks differ between machines. */
static int begin(gnutls_x509_crt_t c, gnutls_x509_privkey_t key, const char *name,
                 const char *organization, int64_t now_s, int64_t end_s)
{
    unsigned char serial[SERIAL_BYTES], id[KEY_ID_BYTES];
    size_t id_len = sizeof(id);
    int r = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));

    serial[0] &= 0x7f; /* keep it positive */
    if (r == 0)
        r = gnutls_x509_crt_set_version(c, 3);
    if (r == 0)
        r = gnutls_x509_crt_set_serial(c, serial, sizeof(serial));
    if (r == 0)
        r = gnutls_x509_crt_set_activation_time(c, (time_t)(now_s - DAY_S));
    if (r == 0)
        r = gnutls_x509_crt_set_expiration_time(c, (time_t)end_s);
    if (r == 0)
        r = gnutls_x509_crt_set_dn_by_oid(c, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, organization,
                                          (unsigned)strlen(organization));
    if (r == 0)
        r = gnutls_x509_crt_set_dn_by_oid(c, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                          (unsigned)strlen(name));
    if (r == 0)
        r = gnutls_x509_crt_set_key(c, key);
    if (r == 0)
        r = gnutls_x509_crt_get_key_id(c, 0, id, &id_len);
    return r == 0 ? gnutls_x509_crt_set_subject_key_id(c, id, id_len) : r;
}

/* --- the authority --- */

static int make_authority(gnutls_x509_crt_t c, gnutls_x509_privkey_t key, int64_t now_s)
{
    int r = begin(c, key, OWNER " certificate authority", OWNER, now_s,
                  now_s + AUTHORITY_DAYS * DAY_S);

    if (r == 0)
        r = gnutls_x509_crt_set_basic_constraints(c, 1, 0);
    if (r == 0)
        r = gnutls_x509_crt_set_key_usage(c, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN);
    return r == 0 ? gnutls_x509_crt_sign2(c, c, key, GNUTLS_DIG_SHA256, 0) : r;
}

int authority_make(const char *key_pem, int64_t now_s, struct buf *ret_key,
                   struct buf *ret_certificate, struct err *err)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t c = NULL;
    int r = key_pem ? read_key(key_pem, &key) : new_key(&key);

    if (r == 0)
        r = gnutls_x509_crt_init(&c);
    if (r == 0)
        r = make_authority(c, key, now_s);
    if (r == 0 && !key_pem)
        r = write_key(key, ret_key);
    if (r == 0)
        r = write_certificate(c, ret_certificate);
    gnutls_x509_crt_deinit(c);
    gnutls_x509_privkey_deinit(key);
    return r < 0 ? failed(err, "make a certificate authority", r) : 0;
}

static bool belong_together(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key)
{
    unsigned char of_key[KEY_ID_BYTES], of_certificate[KEY_ID_BYTES];
    size_t key_len = sizeof(of_key), certificate_len = sizeof(of_certificate);

    return gnutls_x509_privkey_get_key_id(key, 0, of_key, &key_len) == 0 &&
           gnutls_x509_crt_get_key_id(certificate, 0, of_certificate, &certificate_len) == 0 &&
           key_len == certificate_len && memcmp(of_key, of_certificate, key_len) == 0;
}

bool authority_is_good(const struct key_pair *authority, int64_t now_s)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t c = NULL;
    bool good = read_key(authority->key, &key) == 0 &&
                read_certificate(authority->certificate, &c) == 0 && belong_together(c, key) &&
                (int64_t)gnutls_x509_crt_get_activation_time(c) <= now_s &&
                (int64_t)gnutls_x509_crt_get_expiration_time(c) > now_s + CERTIFICATE_DAYS * DAY_S;

    gnutls_x509_crt_deinit(c);
    gnutls_x509_privkey_deinit(key);
    return good;
}

/* --- a server, a client --- */

struct subject {
    const char *name, *organization, *purpose;
    const char *const *names; /* alternative names; NULL-terminated */
};

static int add_name(gnutls_x509_crt_t c, const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];
    gnutls_x509_subject_alt_name_t type = GNUTLS_SAN_IPADDRESS;
    const void *data = address;
    unsigned len = sizeof(struct in6_addr);

    if (inet_pton(AF_INET, name, address) == 1) {
        len = sizeof(struct in_addr);
    } else if (inet_pton(AF_INET6, name, address) != 1) {
        type = GNUTLS_SAN_DNSNAME;
        data = name;
        len = (unsigned)strlen(name);
    }
    return gnutls_x509_crt_set_subject_alt_name(c, type, data, len, GNUTLS_FSAN_APPEND);
}

static int describe(gnutls_x509_crt_t c, gnutls_x509_privkey_t key, gnutls_x509_crt_t signer,
                    gnutls_x509_privkey_t signing_key, const struct subject *of, int64_t now_s)
{
    int64_t end_s = min_i64(now_s + CERTIFICATE_DAYS * DAY_S,
                            (int64_t)gnutls_x509_crt_get_expiration_time(signer));
    unsigned char id[KEY_ID_BYTES];
    size_t id_len = sizeof(id);
    int r = begin(c, key, of->name, of->organization, now_s, end_s);

    if (r == 0)
        r = gnutls_x509_crt_set_basic_constraints(c, 0, -1);
    if (r == 0)
        r = gnutls_x509_crt_set_key_usage(c, GNUTLS_KEY_DIGITAL_SIGNATURE);
    if (r == 0)
        r = gnutls_x509_crt_set_key_purpose_oid(c, of->purpose, 0);
    if (r == 0)
        r = gnutls_x509_crt_get_subject_key_id(signer, id, &id_len, NULL);
    if (r == 0)
        r = gnutls_x509_crt_set_authority_key_id(c, id, id_len);
    for (const char *const *names = of->names; r == 0 && *names; names++)
        r = add_name(c, *names);
    return r == 0 ? gnutls_x509_crt_sign2(c, signer, signing_key, GNUTLS_DIG_SHA256, 0) : r;
}

static int make(const struct key_pair *authority, const struct subject *of, int64_t now_s,
                struct buf *ret_key, struct buf *ret_certificate, struct err *err)
{
    gnutls_x509_privkey_t signing_key = NULL, key = NULL;
    gnutls_x509_crt_t signer = NULL, c = NULL;
    int r = read_key(authority->key, &signing_key);

    if (r == 0)
        r = read_certificate(authority->certificate, &signer);
    if (r == 0)
        r = new_key(&key);
    if (r == 0)
        r = gnutls_x509_crt_init(&c);
    if (r == 0)
        r = describe(c, key, signer, signing_key, of, now_s);
    if (r == 0)
        r = write_key(key, ret_key);
    if (r == 0)
        r = write_certificate(c, ret_certificate);
    gnutls_x509_crt_deinit(c);
    gnutls_x509_crt_deinit(signer);
    gnutls_x509_privkey_deinit(key);
    gnutls_x509_privkey_deinit(signing_key);
    return r < 0 ? failed(err, "make a certificate", r) : 0;
}

int certificate_make(const struct key_pair *authority, const char *const *names, int64_t now_s,
                     struct buf *ret_key, struct buf *ret_certificate, struct err *err)
{
    const struct subject of = {
        .name = OWNER, .organization = OWNER, .purpose = GNUTLS_KP_TLS_WWW_SERVER, .names = names};

    return make(authority, &of, now_s, ret_key, ret_certificate, err);
}

int certificate_make_client(const struct key_pair *authority, const char *user, const char *group,
                            int64_t now_s, struct buf *ret_key, struct buf *ret_certificate,
                            struct err *err)
{
    static const char *const none[] = {NULL};
    const struct subject of = {
        .name = user, .organization = group, .purpose = GNUTLS_KP_TLS_WWW_CLIENT, .names = none};

    return make(authority, &of, now_s, ret_key, ret_certificate, err);
}

/* --- requests of clients --- */

#define REQUEST_LEAD_S 300 /* valid from so much earlier: clocks differ */

static int read_request(const char *pem, gnutls_x509_crq_t *ret)
{
    gnutls_datum_t text = datum_of(pem);
    int r = gnutls_x509_crq_init(ret);

    if (r == 0)
        r = gnutls_x509_crq_import(*ret, &text, GNUTLS_X509_FMT_PEM);
    return r == 0 ? gnutls_x509_crq_verify(*ret, 0) : r;
}

/* A name that holds a NUL, or is too long, is none. */
static bool read_subject_part(gnutls_x509_crq_t q, const char *oid, unsigned index,
                              char out[CERTIFICATE_NAME_SIZE])
{
    size_t size = CERTIFICATE_NAME_SIZE;

    return gnutls_x509_crq_get_dn_by_oid(q, oid, index, 0, out, &size) == 0 && *out &&
           strlen(out) == size;
}

static bool has_subject_part(gnutls_x509_crq_t q, const char *oid, unsigned index)
{
    size_t size = 0;

    return gnutls_x509_crq_get_dn_by_oid(q, oid, index, 0, NULL, &size) !=
           GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
}

int certificate_request_read(const char *pem, struct certificate_subject *ret, struct err *err)
{
    gnutls_x509_crq_t q = NULL;
    int r = read_request(pem, &q);
    size_t n = 0;

    if (r < 0)
        (void)err_set(err, ERR_INVALID, "not a request for a certificate: %s", gnutls_strerror(r));
    else if (!read_subject_part(q, GNUTLS_OID_X520_COMMON_NAME, 0, ret->user))
        r = err_set(err, ERR_INVALID, "its subject has no common name, which is the user");
    else if (has_subject_part(q, GNUTLS_OID_X520_COMMON_NAME, 1))
        r = err_set(err, ERR_INVALID,
                    "its subject has several common names, of which approvers would see only one");
    while (r == 0 && n < CERTIFICATE_GROUPS_LIMIT &&
           read_subject_part(q, GNUTLS_OID_X520_ORGANIZATION_NAME, (unsigned)n, ret->groups[n]))
        n++;
    if (r == 0 && has_subject_part(q, GNUTLS_OID_X520_ORGANIZATION_NAME, (unsigned)n))
        r = err_set(err, ERR_INVALID,
                    "its subject has more than %u organizations, or one that is not plain text",
                    CERTIFICATE_GROUPS_LIMIT);
    ret->groups_len = n;
    gnutls_x509_crq_deinit(q);
    return r < 0 ? err_errno(ERR_INVALID) : 0;
}

static int describe_request(gnutls_x509_crt_t c, gnutls_x509_crq_t q, gnutls_x509_crt_t signer,
                            gnutls_x509_privkey_t key, int64_t now_s, int64_t seconds)
{
    int64_t end_s = min_i64(now_s + seconds, (int64_t)gnutls_x509_crt_get_expiration_time(signer));
    unsigned char serial[SERIAL_BYTES], id[KEY_ID_BYTES];
    size_t id_len = sizeof(id);
    int r = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));

    serial[0] &= 0x7f;
    if (r == 0)
        r = gnutls_x509_crt_set_crq(c, q);
    if (r == 0)
        r = gnutls_x509_crt_set_version(c, 3);
    if (r == 0)
        r = gnutls_x509_crt_set_serial(c, serial, sizeof(serial));
    if (r == 0)
        r = gnutls_x509_crt_set_activation_time(c, (time_t)(now_s - REQUEST_LEAD_S));
    if (r == 0)
        r = gnutls_x509_crt_set_expiration_time(c, (time_t)end_s);
    if (r == 0)
        r = gnutls_x509_crt_set_basic_constraints(c, 0, -1);
    if (r == 0)
        r = gnutls_x509_crt_set_key_usage(c, GNUTLS_KEY_DIGITAL_SIGNATURE |
                                                 GNUTLS_KEY_KEY_ENCIPHERMENT);
    if (r == 0)
        r = gnutls_x509_crt_set_key_purpose_oid(c, GNUTLS_KP_TLS_WWW_CLIENT, 0);
    if (r == 0)
        r = gnutls_x509_crt_get_subject_key_id(signer, id, &id_len, NULL);
    if (r == 0)
        r = gnutls_x509_crt_set_authority_key_id(c, id, id_len);
    return r == 0 ? gnutls_x509_crt_sign2(c, signer, key, GNUTLS_DIG_SHA256, 0) : r;
}

int certificate_request_sign(const struct key_pair *authority, const char *pem, int64_t now_s,
                             int64_t seconds, struct buf *ret_certificate, struct err *err)
{
    gnutls_x509_privkey_t key = NULL;
    gnutls_x509_crt_t signer = NULL, c = NULL;
    gnutls_x509_crq_t q = NULL;
    int r = read_request(pem, &q);

    if (r == 0)
        r = read_key(authority->key, &key);
    if (r == 0)
        r = read_certificate(authority->certificate, &signer);
    if (r == 0)
        r = gnutls_x509_crt_init(&c);
    if (r == 0)
        r = describe_request(c, q, signer, key, now_s, seconds);
    if (r == 0)
        r = write_certificate(c, ret_certificate);
    gnutls_x509_crt_deinit(c);
    gnutls_x509_crt_deinit(signer);
    gnutls_x509_crq_deinit(q);
    gnutls_x509_privkey_deinit(key);
    return r < 0 ? failed(err, "sign a certificate", r) : 0;
}

/* --- ssh --- */

#define SSH_KEY_TYPE "ecdsa-sha2-nistp256"
#define SSH_CURVE "nistp256"
#define COORDINATE_BYTES 32

/* ssh's encoding: length, then bytes. */
static void add_part(struct buf *out, const void *data, size_t len)
{
    const uint32_t count = htonl((uint32_t)len);

    buf_add(out, &count, sizeof(count));
    buf_add(out, data, len);
}

/* Right-aligned: leading zeros are dropped or added. */
static void put_coordinate(uint8_t *to, const gnutls_datum_t *number)
{
    size_t len = min_size(number->size, COORDINATE_BYTES);

    memcpy(to + COORDINATE_BYTES - len, number->data + number->size - len, len);
}

static int write_ssh_key(gnutls_x509_privkey_t key, struct buf *out)
{
    uint8_t point[1 + 2 * COORDINATE_BYTES] = {4}; /* not compressed */
    struct buf blob = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES);
    struct arena a = ARENA_INIT(CERTIFICATE_PEM_LIMIT_BYTES);
    gnutls_datum_t x = {0}, y = {0}, k = {0};
    gnutls_ecc_curve_t curve;
    int r = gnutls_x509_privkey_export_ecc_raw(key, &curve, &x, &y, &k);

    if (r == 0) {
        size_t len;

        put_coordinate(point + 1, &x);
        put_coordinate(point + 1 + COORDINATE_BYTES, &y);
        add_part(&blob, SSH_KEY_TYPE, strlen(SSH_KEY_TYPE));
        add_part(&blob, SSH_CURVE, strlen(SSH_CURVE));
        add_part(&blob, point, sizeof(point));
        buf_addf(out, SSH_KEY_TYPE " %s\n",
                 blob.failed ? "" : base64_encode(&a, blob.data, blob.len, &len));
        explicit_bzero(k.data, k.size);
    }
    gnutls_free(x.data);
    gnutls_free(y.data);
    gnutls_free(k.data);
    arena_release(&a);
    buf_release(&blob);
    return r;
}

int ssh_key_make(struct buf *ret_key, struct buf *ret_public, struct err *err)
{
    gnutls_x509_privkey_t key = NULL;
    int r = new_key(&key);

    if (r == 0)
        r = write_key(key, ret_key);
    if (r == 0)
        r = write_ssh_key(key, ret_public);
    if (key)
        gnutls_x509_privkey_deinit(key);
    return r == 0 && !ret_key->failed && !ret_public->failed
               ? 0
               : err_set(err, ERR_INTERNAL, "%s", r < 0 ? gnutls_strerror(r) : "out of memory");
}
