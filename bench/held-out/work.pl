# SPDX-License-Identifier: MIT
# A parser by recursion, matrices, packed records, a heap and formatted text. Argument: how many rounds.
use strict;
use warnings;

my $rounds = shift // 10;
my ($state, $text) = (12345);

sub draw {
    $state ^= ($state << 13) & 0xffffffff;
    $state ^= $state >> 17;
    $state ^= ($state << 5) & 0xffffffff;
    return $state % $_[0];
}

sub write_value {
    my ($depth) = @_;
    return draw(2) ? draw(100000) : '"' . 'x' x draw(12) . '\\n"' if !$depth || draw(4) == 0;
    return '[' . join(',', map { write_value($depth - 1) } 1 .. 1 + draw(4)) . ']' if draw(2);
    return '{' . join(',', map { "\"k$_\":" . write_value($depth - 1) } 1 .. 1 + draw(4)) . '}';
}

sub parse_value {
    if ($text =~ /\G\s*(\d+)/gc) { return $1 }
    if ($text =~ /\G\s*"((?:[^"\\]|\\.)*)"/gc) { return $1 }
    if ($text =~ /\G\[/gc) {
        my @items;
        do { push @items, parse_value() } while $text =~ /\G,/gc;
        $text =~ /\G\]/gc or die "list";
        return \@items;
    }
    $text =~ /\G\{/gc or die "value";
    my %items;
    do {
        $text =~ /\G"(\w+)":/gc or die "key";
        my $key = $1;
        $items{$key} = parse_value();
    } while $text =~ /\G,/gc;
    $text =~ /\G\}/gc or die "object";
    return \%items;
}

sub weigh {
    my ($value) = @_;
    my $kind = ref $value;
    return length $value unless $kind;
    my $sum = 1;
    $sum += weigh($_) for $kind eq 'ARRAY' ? @$value : values %$value;
    return $sum;
}

sub multiply {
    my ($x, $y, $n) = @_;
    my @z;
    for my $i (0 .. $n - 1) {
        for my $j (0 .. $n - 1) {
            my $sum = 0;
            $sum += $x->[$i][$_] * $y->[$_][$j] for 0 .. $n - 1;
            $z[$i][$j] = $sum % 1009;
        }
    }
    return \@z;
}

sub heap_push {
    my ($heap, $value) = @_;
    my $at = push(@$heap, $value) - 1;
    while ($at && $heap->[($at - 1) >> 1] > $heap->[$at]) {
        my $up = ($at - 1) >> 1;
        @$heap[$up, $at] = @$heap[$at, $up];
        $at = $up;
    }
}

my $total = 0;
for my $round (1 .. $rounds) {
    $text = write_value(5);
    pos($text) = 0;
    $total += weigh(parse_value());
    my @matrix = map { [map { draw(100) } 1 .. 12] } 1 .. 12;
    $total += multiply(\@matrix, \@matrix, 12)->[3][7];
    my $packed = join '', map { pack 'nNa6', draw(65536), draw(1 << 30), "id$_" } 1 .. 60;
    for my $record (unpack '(a12)*', $packed) {
        my ($short, $long, $name) = unpack 'nNa6', $record;
        ($name = reverse $name) =~ tr/a-z0-9/A-Z5-90-4/;
        $total += $short ^ ($long & 255) + ord $name;
    }
    my @heap;
    heap_push(\@heap, draw(1000)) for 1 .. 80;
    $total += $heap[0];
    $total += length sprintf '%-12s|%08.3f|%x', "row$round", $total / 7, $round;
}
print "$total\n";
