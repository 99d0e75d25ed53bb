# needs: gcc make ar
# hotpath's own library built by make -j2: the objects must be the same to the byte.
root=$SUITES_SOURCE
cat >Makefile <<P
OBJECTS = \$(addsuffix .o,\$(basename \$(notdir \$(wildcard $root/src/stream/*.c $root/src/isa/*.c))))
VPATH = $root/src/stream:$root/src/isa
CFLAGS = -std=gnu17 -O2 -g0 -w -I$root/include -I$root/src
all.a: \$(OBJECTS)
	ar rcsD \$@ \$(sort \$^)
P
make -j2 all.a >log 2>&1; echo "make $?"
ls *.o | wc -l
cksum all.a
