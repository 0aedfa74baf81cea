/* manifests_text.S - manifests.yaml, as text. */
        .section .rodata, "a", @progbits
        .global manifests_text
manifests_text:
        .incbin "src/cli/manifests.yaml"
        .byte 0
        .section .note.GNU-stack, "", @progbits
