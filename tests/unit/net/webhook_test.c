/* webhook_test.c - where webhooks may lead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>

#include "net/webhook.h"

static bool may_reach(const char *address)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (!strchr(address, ':')) {
        assert_int_equal(inet_pton(AF_INET, address, &v4.sin_addr), 1);
        return webhook_may_reach((const struct sockaddr *)&v4);
    }
    assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
    return webhook_may_reach((const struct sockaddr *)&v6);
}

static void machines_of_others_are_reached(void **state)
{
    static const char *const fine[] = {"8.8.8.8",     "10.0.0.1",        "192.168.1.1",
                                       "172.16.0.1",  "126.0.0.1",       "128.0.0.1",
                                       "169.253.0.1", "223.255.255.255", "2001:db8::1",
                                       "fd00::1",     "::ffff:10.0.0.1", "64:ff9b::808:808"};

    (void)state;
    for (size_t i = 0; i < ELEMS(fine); i++)
        if (!may_reach(fine[i]))
            fail_msg("%s is refused", fine[i]);
}

static void this_machine_and_its_link_are_not(void **state)
{
    static const char *const refused[] = {"0.0.0.0",
                                          "0.1.2.3",
                                          "127.0.0.1",
                                          "127.255.255.255",
                                          "169.254.169.254",
                                          "224.0.0.1",
                                          "239.1.1.1",
                                          "255.255.255.255",
                                          "::",
                                          "::1",
                                          "::127.0.0.1",
                                          "::ffff:127.0.0.1",
                                          "::ffff:169.254.169.254",
                                          "64:ff9b::7f00:1",
                                          "64:ff9b::a9fe:a9fe",
                                          "2002:7f00:1::",
                                          "fe80::1",
                                          "febf::1",
                                          "ff02::1",
                                          "fd00:ec2::254"};

    (void)state;
    for (size_t i = 0; i < ELEMS(refused); i++)
        if (may_reach(refused[i]))
            fail_msg("%s is reached", refused[i]);
    assert_false(webhook_may_reach(&(struct sockaddr){.sa_family = AF_UNIX}));
}

static void nor_are_its_addresses_in_networks(void **state)
{
    struct ifaddrs *all = NULL;
    unsigned seen = 0;

    (void)state;
    assert_int_equal(getifaddrs(&all), 0);
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (i->ifa_addr &&
            (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6)) {
            seen++;
            assert_false(webhook_may_reach(i->ifa_addr));
        }
    freeifaddrs(all);
    assert_true(seen > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_of_others_are_reached),
        cmocka_unit_test(this_machine_and_its_link_are_not),
        cmocka_unit_test(nor_are_its_addresses_in_networks),
    };

    return cmocka_run_group_tests_name("net/webhook", tests, NULL, NULL);
}
