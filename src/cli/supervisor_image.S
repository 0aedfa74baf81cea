/* supervisor_image.S - the program made of src/supervise.c, as data; empty where IMAGE is not given. */
        .section .rodata, "a", @progbits
        .global supervisor_image
        .global supervisor_image_len
supervisor_image:
#ifdef IMAGE
        .incbin IMAGE
#endif
1:      .balign 8
supervisor_image_len:
        .quad 1b - supervisor_image
        .section .note.GNU-stack, "", @progbits
