// SPDX-License-Identifier: MIT
/*
 * Loads a program and its interpreter into this process, as the kernel would have done.
 *
 * The file may have changed since hotpath checked it. It is checked again, just enough to fail with
 * a clear message instead of a crash.
 */
#include "engine/native/inner/inner.h"
#include "engine/native/inner/sys.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>

#define PAGE        4096ull
#define ADDRESS_MAX (1ull << 47)
#define HEADERS_MAX 65536 /* bytes of program headers; the kernel's limit */
#define PATH_SIZE   4096

/* Where the kernel puts position-independent programs without randomization. */
#define USUAL_BASE 0x555555554000ull
/* A break above this is in the kernel's mmap region: no place for a program. */
#define LOW_BREAK_MAX (0x70ull << 40)
/* The maximum random distance of a program below the break. */
#define DISTANCE_MAX (1ull << 30)

struct file {
    const char *path;
    int fd;
    Elf64_Ehdr header;
    Elf64_Phdr *segments; /* header.e_phnum of them; separately mapped */
    uint64_t low, high;   /* of all segments, rounded to pages */
    uint64_t align;       /* the largest of the segments */
    uint64_t size;        /* of the file */
    uint64_t bias;        /* what to add to the file's addresses */
};

static uint64_t page_down(uint64_t address)
{
    return address & ~(PAGE - 1);
}

static uint64_t page_up(uint64_t address)
{
    return page_down(address + PAGE - 1);
}

/* --- Reading the headers ---------------------------------------------------------------------- */

static bool read_at(int fd, void *to, uint64_t size, uint64_t offset)
{
    for (uint64_t done = 0; done < size;) {
        long n = hp_sys4(SYS_pread64, fd, (long)to + (long)done, (long)(size - done),
                         (long)(offset + done));
        if (n == -EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (uint64_t)n;
    }
    return true;
}

static void check_header(const struct file *file)
{
    const Elf64_Ehdr *header = &file->header;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        hp_run_natively(file->path, "not an ELF file");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_X86_64)
        hp_run_natively(file->path, "not a 64-bit x86 program; try --engine qemu");
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        hp_run_natively(file->path, "an ELF file, but not a program");
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum == 0 ||
        header->e_phnum > HEADERS_MAX / sizeof(Elf64_Phdr))
        hp_run_natively(file->path, "its program headers make no sense");
}

/* Checks what must hold before anything is mapped. */
static void check_segment(struct file *file, const Elf64_Phdr *segment)
{
    if (segment->p_filesz > segment->p_memsz || segment->p_vaddr >= ADDRESS_MAX ||
        segment->p_memsz > ADDRESS_MAX || segment->p_vaddr + segment->p_memsz > ADDRESS_MAX ||
        segment->p_offset > INT64_MAX - ADDRESS_MAX ||
        (segment->p_filesz > 0 && (segment->p_vaddr - segment->p_offset) % PAGE != 0))
        hp_run_natively(file->path, "a segment makes no sense");
    /* A part without file contents has nothing to zero. */
    if (segment->p_memsz > segment->p_filesz && segment->p_filesz > 0 &&
        segment->p_offset + segment->p_filesz > page_up(file->size))
        hp_run_natively(file->path, "the file is cut short");
    uint64_t low = page_down(segment->p_vaddr);
    uint64_t high = page_up(segment->p_vaddr + segment->p_memsz);
    if (low < file->low)
        file->low = low;
    if (high > file->high)
        file->high = high;
    /* As in the kernel: a value that is not a power of two is ignored. */
    uint64_t align = segment->p_align;
    if ((align & (align - 1)) == 0 && align > file->align && align < ADDRESS_MAX)
        file->align = align;
}

static void open_file(struct file *file, const char *path)
{
    *file = (struct file){.path = path, .low = UINT64_MAX, .align = PAGE};
    long fd = hp_sys4(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (hp_sys_failed(fd))
        hp_run_natively(path, fd == -ENOENT ? "no such file" : "cannot be opened");
    file->fd = (int)fd;
    struct stat st;
    if (hp_sys_failed(hp_sys2(SYS_fstat, fd, (long)&st)) || !S_ISREG(st.st_mode))
        hp_run_natively(path, "not a regular file");
    file->size = (uint64_t)st.st_size;
    if (!read_at(file->fd, &file->header, sizeof file->header, 0))
        hp_run_natively(path, "cannot be read, or is too short for a program");
    check_header(file);
    file->segments = hp_pages(HEADERS_MAX);
    if (!file->segments)
        hp_run_natively(path, "no memory for its headers");
    if (file->header.e_phoff > INT64_MAX - HEADERS_MAX ||
        !read_at(file->fd, file->segments, file->header.e_phnum * sizeof(Elf64_Phdr),
                 file->header.e_phoff))
        hp_run_natively(path, "its program headers cannot be read");
    for (int i = 0; i < file->header.e_phnum; i++)
        if (file->segments[i].p_type == PT_LOAD && file->segments[i].p_memsz > 0)
            check_segment(file, &file->segments[i]);
    if (file->high <= file->low)
        hp_run_natively(path, "it has nothing to load");
}

static void close_file(struct file *file)
{
    hp_sys1(SYS_close, file->fd);
    hp_pages_give_back(file->segments, HEADERS_MAX);
}

static const Elf64_Phdr *find_segment(const struct file *file, uint32_t type)
{
    for (int i = 0; i < file->header.e_phnum; i++)
        if (file->segments[i].p_type == type)
            return &file->segments[i];
    return NULL;
}

/* --- Finding a place -------------------------------------------------------------------------- */

static long reserve(uint64_t address, uint64_t size, int flags)
{
    return hp_sys6(SYS_mmap, (long)address, (long)size, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

/* Reserves this place or none. Kernels that do not know MAP_FIXED_NOREPLACE take the address as a
 * hint. */
static bool reserve_here(uint64_t address, uint64_t size)
{
    long place = reserve(address, size, MAP_FIXED_NOREPLACE);
    if (hp_sys_failed(place))
        return false;
    if ((uint64_t)place == address)
        return true;
    hp_sys2(SYS_munmap, place, (long)size);
    return false;
}

static uint64_t random_number(void)
{
    uint64_t number = 0;
    if (hp_sys3(SYS_getrandom, (long)&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = __builtin_ia32_rdtsc() * 0x9e3779b97f4a7c15u >> 16;
    return number;
}

/*
 * Where a position-independent program should go: some distance below the break, which then can
 * grow as far as natively. The kernel has put the engine itself among the mappings, and the break
 * low, where a program would have been. Some kernels leave the break after the engine when
 * addresses are not randomized; then the program goes to its native place.
 */
static uint64_t preferred_place(uint64_t size, uint64_t align)
{
    bool fixed = hp_sys1(SYS_personality, 0xffffffff) & ADDR_NO_RANDOMIZE;
    uint64_t brk = (uint64_t)hp_sys1(SYS_brk, 0);
    if (brk > LOW_BREAK_MAX)
        return USUAL_BASE & ~(align - 1);
    uint64_t distance = fixed ? 0 : page_down(random_number() % DISTANCE_MAX);
    if (brk < size + distance + align)
        return 0;
    return (page_down(brk) - size - distance) & ~(align - 1);
}

/* Anywhere the kernel chooses. Reserves room for the alignment, and unmaps what is not used. */
static uint64_t reserve_anywhere(const struct file *file, uint64_t size)
{
    uint64_t more = file->align - PAGE;
    long place = reserve(0, size + more, 0);
    if (hp_sys_failed(place))
        hp_run_natively(file->path, "no room for it in memory");
    uint64_t start = (uint64_t)place, from = (start + more) & ~(file->align - 1);
    if (from > start)
        hp_sys2(SYS_munmap, place, (long)(from - start));
    if (start + more > from)
        hp_sys2(SYS_munmap, (long)(from + size), (long)(start + more - from));
    return from;
}

/* Reserves the whole span of the file, so that nothing can be mapped between its segments. */
static void take_place(struct file *file, bool is_interpreter)
{
    uint64_t size = file->high - file->low;
    if (file->header.e_type == ET_EXEC) {
        if (!reserve_here(file->low, size))
            hp_run_natively(file->path, "the addresses it was linked for are not free");
        return;
    }
    /* Only a multiple of the alignment may be added to the file's addresses. */
    uint64_t skew = file->low % file->align;
    file->low -= skew;
    size += skew;
    uint64_t place = is_interpreter ? 0 : preferred_place(size, file->align);
    if (place == 0 || !reserve_here(place, size))
        place = reserve_anywhere(file, size);
    file->bias = place - file->low;
}

/* --- Mapping ---------------------------------------------------------------------------------- */

static int protection(const Elf64_Phdr *segment)
{
    return (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_W ? PROT_WRITE : 0) |
           (segment->p_flags & PF_X ? PROT_EXEC : 0);
}

/* Memory after the file's part: the rest of its last page, if writable, and further pages. */
static void map_bss(const struct file *file, const Elf64_Phdr *segment, uint64_t start)
{
    uint64_t zero = start + segment->p_filesz;
    uint64_t end = page_up(start + segment->p_memsz);
    uint64_t from = segment->p_filesz > 0 ? page_up(zero) : page_down(zero);
    if (segment->p_filesz > 0 && segment->p_flags & PF_W)
        memset((void *)zero, 0, from - zero);
    if (end <= from)
        return;
    long place = hp_sys6(SYS_mmap, (long)from, (long)(end - from),
                         PROT_READ | PROT_WRITE | (segment->p_flags & PF_X ? PROT_EXEC : 0),
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (hp_sys_failed(place))
        hp_run_natively(file->path, "no memory for its data");
}

static void map_segment(const struct file *file, const Elf64_Phdr *segment)
{
    uint64_t start = segment->p_vaddr + file->bias;
    uint64_t before = start % PAGE;
    if (segment->p_filesz > 0) {
        long place = hp_sys6(SYS_mmap, (long)(start - before), (long)(segment->p_filesz + before),
                             protection(segment), MAP_PRIVATE | MAP_FIXED, file->fd,
                             (long)(segment->p_offset - before));
        if (hp_sys_failed(place))
            hp_run_natively(file->path, "a segment cannot be mapped");
    }
    if (segment->p_flags & PF_X)
        hp_maps_loaded(start - before, page_up(start + segment->p_memsz), protection(segment),
                       file->path, file->low + file->bias);
    if (segment->p_memsz > segment->p_filesz)
        map_bss(file, segment, start);
}

static void map_file(struct file *file, bool is_interpreter)
{
    take_place(file, is_interpreter);
    uint64_t end = file->low + file->bias;
    for (int i = 0; i < file->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_LOAD || segment->p_memsz == 0)
            continue;
        /* The kernel leaves no gaps between segments. */
        uint64_t start = page_down(segment->p_vaddr + file->bias);
        if (start > end)
            hp_sys2(SYS_munmap, (long)end, (long)(start - end));
        map_segment(file, segment);
        uint64_t segment_end = page_up(segment->p_vaddr + segment->p_memsz + file->bias);
        if (segment_end > end)
            end = segment_end;
    }
}

/* --- The whole -------------------------------------------------------------------------------- */

/* Where the program headers are in memory; 0 when no segment holds them. */
static uint64_t headers_address(const struct file *file)
{
    for (int i = 0; i < file->header.e_phnum; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type == PT_LOAD && file->header.e_phoff >= segment->p_offset &&
            file->header.e_phoff - segment->p_offset < segment->p_filesz)
            return file->header.e_phoff - segment->p_offset + segment->p_vaddr + file->bias;
    }
    return 0;
}

static void load_interpreter(const struct file *program, const Elf64_Phdr *segment,
                             struct hp_image *image)
{
    char path[PATH_SIZE];
    if (segment->p_filesz < 2 || segment->p_filesz > sizeof path ||
        segment->p_offset > INT64_MAX - sizeof path ||
        !read_at(program->fd, path, segment->p_filesz, segment->p_offset) ||
        path[segment->p_filesz - 1] != 0)
        hp_run_natively(program->path, "the name of its interpreter makes no sense");
    struct file file;
    open_file(&file, path);
    map_file(&file, true);
    image->interpreter = file.bias;
    image->entry = file.header.e_entry + file.bias;
    close_file(&file);
}

void hp_load(const char *path, struct hp_image *image)
{
    struct file file;
    open_file(&file, path);
    map_file(&file, false);
    *image = (struct hp_image){
        .program_entry = file.header.e_entry + file.bias,
        .headers = headers_address(&file),
        .n_headers = file.header.e_phnum,
        .header_size = file.header.e_phentsize,
    };
    image->entry = image->program_entry;
    const Elf64_Phdr *stack = find_segment(&file, PT_GNU_STACK);
    image->executable_stack = stack && stack->p_flags & PF_X;
    const Elf64_Phdr *interpreter = find_segment(&file, PT_INTERP);
    if (interpreter)
        load_interpreter(&file, interpreter, image);
    close_file(&file);
}
