# Sets `bytes` to declarations of file_0, file_1, ..., which are the bytes of FILES, and `sizes` to their sizes. The
# assembler reads the files: a compiler takes a minute for as many numbers.
set(bytes "asm(R\"(.section .rodata\n")
set(names)
set(sizes)
foreach(file IN LISTS FILES)
  list(LENGTH sizes number)
  file(SIZE ${file} size)
  list(APPEND sizes ${size})
  string(APPEND bytes ".balign 16\nfile_${number}: .incbin \"${file}\"\n")
  string(APPEND names "[[gnu::visibility(\"hidden\")]] extern const std::byte file_${number}[];\n")
endforeach()
string(APPEND bytes ".previous\n)\");\nextern \"C\" {\n${names}}\n")
