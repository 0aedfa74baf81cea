/* certificate_test.c - the authority and what it signs, by the words of their texts and GnuTLS's
 * own check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <gnutls/x509.h>

#include "net/certificate.h"

#define DAY_S ((int64_t)24 * 3600)
#define NOW_S ((int64_t)1800000000)

struct texts {
    struct buf key, certificate;
};

static void texts_init(struct texts *t)
{
    buf_init(&t->key, CERTIFICATE_PEM_LIMIT_BYTES);
    buf_init(&t->certificate, CERTIFICATE_PEM_LIMIT_BYTES);
}

static void texts_release(struct texts *t)
{
    buf_release(&t->key);
    buf_release(&t->certificate);
}

static struct key_pair pair_of(const struct texts *t)
{
    return (struct key_pair){.key = t->key.data, .certificate = t->certificate.data};
}

static void make_authority(struct texts *t, int64_t now_s)
{
    auto_err err = ERR_INIT;

    texts_init(t);
    assert_int_equal(authority_make(NULL, now_s, &t->key, &t->certificate, &err), 0);
}

static gnutls_x509_crt_t parse(const struct buf *pem)
{
    gnutls_datum_t text = {.data = (unsigned char *)pem->data, .size = (unsigned)pem->len};
    gnutls_x509_crt_t c;

    assert_int_equal(gnutls_x509_crt_init(&c), 0);
    assert_int_equal(gnutls_x509_crt_import(c, &text, GNUTLS_X509_FMT_PEM), 0);
    return c;
}

/* Whether a client that trusts this authority takes that server's certificate for the name. */
static bool is_trusted(const struct buf *authority, const struct buf *server, const char *name,
                       int64_t now_s)
{
    gnutls_typed_vdata_st wanted[] = {
        {.type = GNUTLS_DT_DNS_HOSTNAME, .data = (unsigned char *)name},
        {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)GNUTLS_KP_TLS_WWW_SERVER}};
    gnutls_x509_crt_t a = parse(authority), c = parse(server);
    gnutls_x509_trust_list_t list;
    unsigned status = 1;

    assert_int_equal(gnutls_x509_trust_list_init(&list, 0), 0);
    assert_int_equal(gnutls_x509_trust_list_add_cas(list, &a, 1, 0), 1);
    assert_int_equal(gnutls_x509_trust_list_verify_crt2(list, &c, 1, wanted, ELEMS(wanted),
                                                        GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status,
                                                        NULL),
                     0);
    if (gnutls_x509_crt_get_activation_time(c) > now_s ||
        gnutls_x509_crt_get_expiration_time(c) < now_s)
        status = 1;
    gnutls_x509_trust_list_deinit(list, 0);
    gnutls_x509_crt_deinit(a);
    gnutls_x509_crt_deinit(c);
    return status == 0;
}

static void make_server(const struct texts *authority, struct texts *server, int64_t now_s)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "::1", "vm", NULL};
    struct key_pair signer = pair_of(authority);
    auto_err err = ERR_INIT;

    texts_init(server);
    assert_int_equal(
        certificate_make(&signer, names, now_s, &server->key, &server->certificate, &err), 0);
}

static void a_server_is_trusted_by_its_names(void **state)
{
    static const struct {
        const char *name;
        bool trusted;
    } cases[] = {{"localhost", true}, {"127.0.0.1", true}, {"::1", true},
                 {"vm", true},        {"vm.evil", false},  {"127.0.0.2", false}};
    struct texts authority, server, other;

    (void)state;
    make_authority(&authority, NOW_S);
    make_authority(&other, NOW_S);
    make_server(&authority, &server, NOW_S);
    for (size_t i = 0; i < ELEMS(cases); i++)
        assert_int_equal(
            is_trusted(&authority.certificate, &server.certificate, cases[i].name, NOW_S),
            cases[i].trusted);
    assert_false(is_trusted(&other.certificate, &server.certificate, "localhost", NOW_S));
    assert_null(strstr(authority.certificate.data, "PRIVATE"));
    texts_release(&authority);
    texts_release(&other);
    texts_release(&server);
}

static void a_client_is_who_its_certificate_says(void **state)
{
    struct texts authority, client;
    struct key_pair signer;
    gnutls_x509_crt_t c;
    gnutls_datum_t text;
    char name[64], group[64], purpose[64];
    size_t name_len = sizeof(name), group_len = sizeof(group), purpose_len = sizeof(purpose);
    auto_err err = ERR_INIT;

    (void)state;
    make_authority(&authority, NOW_S);
    texts_init(&client);
    signer = pair_of(&authority);
    assert_int_equal(certificate_make_client(&signer, "some:user", "some:group", NOW_S, &client.key,
                                             &client.certificate, &err),
                     0);
    text = (gnutls_datum_t){(unsigned char *)client.certificate.data,
                            (unsigned)client.certificate.len};
    assert_int_equal(gnutls_x509_crt_init(&c), 0);
    assert_int_equal(gnutls_x509_crt_import(c, &text, GNUTLS_X509_FMT_PEM), 0);
    assert_int_equal(
        gnutls_x509_crt_get_dn_by_oid(c, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &name_len), 0);
    assert_string_equal(name, "some:user");
    assert_int_equal(gnutls_x509_crt_get_dn_by_oid(c, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, 0,
                                                   group, &group_len),
                     0);
    assert_string_equal(group, "some:group");
    assert_int_equal(gnutls_x509_crt_get_key_purpose_oid(c, 0, purpose, &purpose_len, NULL), 0);
    assert_string_equal(purpose, GNUTLS_KP_TLS_WWW_CLIENT);
    /* It is not accepted as a server's. */
    assert_false(is_trusted(&authority.certificate, &client.certificate, "some:user", NOW_S));
    gnutls_x509_crt_deinit(c);
    texts_release(&authority);
    texts_release(&client);
}

static void an_authority_is_good_until_its_last_year(void **state)
{
    struct texts authority, other;
    struct key_pair mixed;

    (void)state;
    make_authority(&authority, NOW_S);
    make_authority(&other, NOW_S);
    assert_true(authority_is_good(
        &(struct key_pair){authority.key.data, authority.certificate.data}, NOW_S));
    mixed = pair_of(&authority);
    assert_true(authority_is_good(&mixed, NOW_S + (AUTHORITY_DAYS - 366) * DAY_S));
    assert_false(authority_is_good(&mixed, NOW_S + (AUTHORITY_DAYS - 364) * DAY_S));
    assert_false(authority_is_good(&mixed, NOW_S - 2 * DAY_S)); /* a clock that was set back */
    mixed.key = other.key.data;
    assert_false(authority_is_good(&mixed, NOW_S));
    mixed = (struct key_pair){.key = authority.key.data, .certificate = "garbage"};
    assert_false(authority_is_good(&mixed, NOW_S));
    texts_release(&authority);
    texts_release(&other);
}

/* Who has only the old certificate of the authority trusts what the new one signs. */
static void a_renewed_authority_is_the_old_one(void **state)
{
    int64_t later_s = NOW_S + (AUTHORITY_DAYS - 100) * DAY_S;
    struct texts old, renewed, server;
    auto_err err = ERR_INIT;

    (void)state;
    make_authority(&old, NOW_S);
    texts_init(&renewed);
    assert_int_equal(
        authority_make(old.key.data, later_s, &renewed.key, &renewed.certificate, &err), 0);
    assert_int_equal(renewed.key.len, 0);
    buf_add(&renewed.key, old.key.data, old.key.len);
    make_server(&renewed, &server, later_s);
    assert_true(is_trusted(&old.certificate, &server.certificate, "localhost", later_s));
    assert_true(is_trusted(&renewed.certificate, &server.certificate, "localhost", later_s));
    assert_int_not_equal(
        authority_make("garbage", later_s, &renewed.key, &renewed.certificate, &err), 0);
    texts_release(&old);
    texts_release(&renewed);
    texts_release(&server);
}

static void a_server_does_not_outlast_its_authority(void **state)
{
    struct texts authority, server;
    gnutls_x509_crt_t a, c;

    (void)state;
    make_authority(&authority, NOW_S);
    make_server(&authority, &server, NOW_S + (AUTHORITY_DAYS - 10) * DAY_S);
    a = parse(&authority.certificate);
    c = parse(&server.certificate);
    assert_int_equal(gnutls_x509_crt_get_expiration_time(c),
                     gnutls_x509_crt_get_expiration_time(a));
    gnutls_x509_crt_deinit(a);
    gnutls_x509_crt_deinit(c);
    texts_release(&authority);
    texts_release(&server);
}

/* The coordinates of its point have 32 bytes each, however gnutls writes them. */
static void keys_for_ssh_have_one_length(void **state)
{
    static const char begin[] =
        "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABB";

    (void)state;
    for (int i = 0; i < 64; i++) {
        struct buf key = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES);
        struct buf line = BUF_INIT(CERTIFICATE_PEM_LIMIT_BYTES);

        assert_int_equal(ssh_key_make(&key, &line, NULL), 0);
        assert_memory_equal(key.data, "-----BEGIN PRIVATE KEY-----\n", 28);
        assert_memory_equal(line.data, begin, strlen(begin));
        assert_int_equal(line.len, strlen("ecdsa-sha2-nistp256 ") + 140 + 1);
        buf_release(&key);
        buf_release(&line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_is_trusted_by_its_names),
        cmocka_unit_test(a_client_is_who_its_certificate_says),
        cmocka_unit_test(an_authority_is_good_until_its_last_year),
        cmocka_unit_test(a_renewed_authority_is_the_old_one),
        cmocka_unit_test(a_server_does_not_outlast_its_authority),
        cmocka_unit_test(keys_for_ssh_have_one_length),
    };

    return cmocka_run_group_tests_name("net/certificate", tests, NULL, NULL);
}
