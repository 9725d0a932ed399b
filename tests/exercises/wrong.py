"""What people write instead of the solutions, and the exact sentence that each of them gets."""
# ruff: noqa: E501

from .graded import Answer, skeleton

WRONG = [
    Answer(
        "chunk-to-send",
        "its own chunk in every step",
        "rank 0 of 3, step 2: sends chunk 0; what arrived in the step before went into chunk 2, and that is what must go on",
        "3 张卡，第 2 步，rank 0：发出第 0 块；上一步收到的内容加进了第 2 块，应当把它传下去",
        old="(rank - step + 1) % size",
        new="rank",
    ),
    Answer(
        "chunk-to-send",
        "no modulo",
        "rank 0 of 3, step 2: chunk -1 does not exist, they are 0 to 2; the ring is closed: count modulo size",
        "3 张卡，第 2 步，rank 0：没有第 -1 块，块号只有 0 到 2；环是首尾相接的：要对 size 取模",
        old="(rank - step + 1) % size",
        new="rank - step + 1",
    ),
    Answer(
        "chunk-to-send",
        "one off: what it is about to receive",
        "rank 0 of 2, step 1: sends chunk 1; in step 1 card r sends chunk r, so chunk 0",
        "2 张卡，第 1 步，rank 0：发出第 1 块；第 1 步第 r 张卡发第 r 块，应是第 0 块",
        old="(rank - step + 1) % size",
        new="(rank - step) % size",
    ),
    Answer(
        "chunk-to-send",
        "the wrong way round",
        "rank 0 of 3, step 2: sends chunk 1; what arrived in the step before went into chunk 2, and that is what must go on",
        "3 张卡，第 2 步，rank 0：发出第 1 块；上一步收到的内容加进了第 2 块，应当把它传下去",
        old="(rank - step + 1) % size",
        new="(rank + step - 1) % size",
    ),
    Answer(
        "chunk-to-send",
        "the formula of the all-gather",
        "rank 0 of 2, step 1: sends chunk 1; in step 1 card r sends chunk r, so chunk 0",
        "2 张卡，第 1 步，rank 0：发出第 1 块；第 1 步第 r 张卡发第 r 块，应是第 0 块",
        old="(rank - step + 1) % size",
        new="(rank - step + 2) % size",
    ),
    Answer(
        "chunk-to-send",
        "a float",
        "rank 0 of 2, step 1: returns 0.0, not the number of a chunk",
        "2 张卡，第 1 步，rank 0：返回了 0.0，而不是块号",
        old="(rank - step + 1) % size",
        new="(rank - step + 1) % size / 1",
    ),
    Answer(
        "chunk-to-send",
        "forgets an argument",
        "your function takes (rank, size); the exercise calls chunk_to_send(rank, size, step)",
        "你的函数的参数是 (rank, size)；练习调用的是 chunk_to_send(rank, size, step)",
        text="def chunk_to_send(rank, size):\n    return rank\n",
    ),
    Answer(
        "reduce-scatter",
        "at least one step",
        "with 1 card: rank 0, step 1, line 9: sends to itself or waits for itself; a message goes to another rank",
        "只有 1 张卡时：rank 0，第 1 步，第 9 行：收发对象是它自己；消息只能发给别的 rank",
        old="range(1, size)",
        new="range(1, max(size, 2))",
    ),
    Answer(
        "reduce-scatter",
        "the skeleton",
        "first wrong hop: step 1, rank 1 → rank 0, chunk 0; on rank 0, chunk 0: another chunk was put into it (line 9): what arrives from the left, from rank - 1, goes into the chunk of the same number as there",
        "第一处出错的传输：第 1 步，rank 1 → rank 0，第 0 块；rank 0 的第 0 块：放进了别的块（第 9 行）：从左邻居（rank - 1）收到的是哪一块，就应放进编号相同的那一块",
        text=skeleton("reduce-scatter"),
    ),
    Answer(
        "reduce-scatter",
        "overwrites instead of adding",
        "first wrong hop: step 1, rank 1 → rank 0, chunk 1; on rank 0, chunk 1: rank 0 is no longer in it (line 9): add what arrives to what is there; do not overwrite it",
        "第一处出错的传输：第 1 步，rank 1 → rank 0，第 1 块；rank 0 的第 1 块：rank 0 的那一份丢了（第 9 行）：收到的内容要加到原有的内容上，不能覆盖",
        old="x[receive] += yield",
        new="x[receive] = yield",
    ),
    Answer(
        "reduce-scatter",
        "one step too many",
        "the result is right, but on 2 cards the busiest sends 1 × the array; 1/2 × is enough",
        "结果正确，但 2 张卡时发得最多的卡发出整个数组的 1 倍；1/2 倍就够了",
        old="range(1, size)",
        new="range(1, size + 1)",
    ),
    Answer(
        "reduce-scatter",
        "one step too few",
        "rank 0 stops before its first step; chunk 1 of rank 0 still lacks rank 1, which rank 1 holds: the hop rank 1 → rank 0 never came: if no hop is missing, another chunk is finished on this card: return its number",
        "rank 0 一步未走就结束了；它的第 1 块还缺 rank 1，而 rank 1 有它：rank 1 → rank 0 的传输没有发生：如果传输一次也没有少，那么这张卡上完整的是另一块：应返回那一块的块号",
        old="range(1, size)",
        new="range(1, size - 1)",
    ),
    Answer(
        "reduce-scatter",
        "its own chunk in every step",
        "rank 0 stops after step 2; chunk 1 of rank 0 still lacks rank 1, 2, which rank 2 holds: the hop rank 2 → rank 0 never came: if no hop is missing, another chunk is finished on this card: return its number",
        "rank 0 在第 2 步之后就结束了；它的第 1 块还缺 rank 1、2，而 rank 2 有它：rank 2 → rank 0 的传输没有发生：如果传输一次也没有少，那么这张卡上完整的是另一块：应返回那一块的块号",
        old="(rank - step + 1) % size, (rank - step) % size",
        new="rank, (rank - 1) % size",
    ),
    Answer(
        "reduce-scatter",
        "owned chunk off by one",
        "rank 0 stops after step 1; chunk 0 of rank 0 still lacks rank 1, which rank 1 holds: the hop rank 1 → rank 0 never came: if no hop is missing, another chunk is finished on this card: return its number",
        "rank 0 在第 1 步之后就结束了；它的第 0 块还缺 rank 1，而 rank 1 有它：rank 1 → rank 0 的传输没有发生：如果传输一次也没有少，那么这张卡上完整的是另一块：应返回那一块的块号",
        old="return (rank + 1) % size",
        new="return rank",
    ),
    Answer(
        "reduce-scatter",
        "no modulo for the neighbour",
        "rank 0, step 1, line 9: names rank -1, but ranks are 0 to 1; is `% size` missing?",
        "rank 0，第 1 步，第 9 行：收发对象是 rank -1，而编号只有 0 到 1；是否漏了 `% size`？",
        old="""(rank + 1) % size, (rank - 1) % size
""",
        new="""rank + 1, rank - 1
""",
    ),
    Answer(
        "reduce-scatter",
        "both neighbours on the same side",
        "nothing can move in step 1: rank 0 offers chunk 0 to rank 1 and waits for rank 1; rank 1 offers chunk 1 to rank 2 and waits for rank 2; rank 2 offers chunk 2 to rank 0 and waits for rank 0; all ranks do the same, and so each waits for another",
        "第 1 步什么也动不了：rank 0 要把第 0 块发给 rank 1，在等 rank 1；rank 1 要把第 1 块发给 rank 2，在等 rank 2；rank 2 要把第 2 块发给 rank 0，在等 rank 0；所有 rank 做法相同，于是都在互相等待",
        old="""(rank + 1) % size, (rank - 1) % size
""",
        new="""(rank + 1) % size, (rank + 1) % size
""",
    ),
    Answer(
        "all-gather",
        "the skeleton",
        "first wrong hop: step 1, rank 1 → rank 0, chunk 0; on rank 0, chunk 0: another chunk was put into it (line 9): what arrives from the left, from rank - 1, goes into the chunk of the same number as there",
        "第一处出错的传输：第 1 步，rank 1 → rank 0，第 0 块；rank 0 的第 0 块：放进了别的块（第 9 行）：从左邻居（rank - 1）收到的是哪一块，就应放进编号相同的那一块",
        text=skeleton("all-gather"),
    ),
    Answer(
        "all-gather",
        "adds instead of overwriting",
        "first wrong hop: step 1, rank 1 → rank 0, chunk 0; on rank 0, chunk 0: added to what was there before, which is nobody's share (line 9)",
        "第一处出错的传输：第 1 步，rank 1 → rank 0，第 0 块；rank 0 的第 0 块：加到了原有的内容上，而那不是任何 rank 的数据（第 9 行）",
        old="x[receive] = yield",
        new="x[receive] += yield",
    ),
    Answer(
        "all-gather",
        "starts with its own chunk",
        "first wrong hop: step 1, rank 1 → rank 0, chunk 1; on rank 0, chunk 1: rank 0 is no longer in it (line 9): pass on finished chunks: first your own, then what has just arrived",
        "第一处出错的传输：第 1 步，rank 1 → rank 0，第 1 块；rank 0 的第 1 块：rank 0 的那一份丢了（第 9 行）：只传完整的块：先传自己那一块，再传刚收到的",
        old="(rank - step + 2) % size, (rank - step + 1) % size",
        new="(rank - step + 1) % size, (rank - step) % size",
    ),
    Answer(
        "all-gather",
        "one step too few",
        "rank 0 stops before its first step; chunk 0 of rank 0 still lacks rank 1, which rank 1 holds: the hop rank 1 → rank 0 never came",
        "rank 0 一步未走就结束了；它的第 0 块还缺 rank 1，而 rank 1 有它：rank 1 → rank 0 的传输没有发生",
        old="range(1, size)",
        new="range(1, size - 1)",
    ),
    Answer(
        "all-gather",
        "drops what arrives",
        "first wrong hop: step 1, rank 0 → rank 1, chunk 1; rank 1 does nothing with what arrived, and chunk 1 ends without rank 0 (line 9)",
        "第一处出错的传输：第 1 步，rank 0 → rank 1，第 1 块；rank 1 没有用收到的内容，第 1 块最后缺 rank 0（第 9 行）",
        old="x[receive] = yield",
        new="yield",
    ),
    Answer(
        "all-gather",
        "sends the finished chunk only",
        "rank 0 stops after step 2; chunk 2 of rank 0 still lacks rank 1, which rank 2 holds: the hop rank 2 → rank 0 never came",
        "rank 0 在第 2 步之后就结束了；它的第 2 块还缺 rank 1，而 rank 2 有它：rank 2 → rank 0 的传输没有发生",
        old="(rank - step + 2) % size, (rank - step + 1) % size",
        new="(rank + 1) % size, rank",
    ),
    Answer(
        "all-reduce",
        "the skeleton",
        "rank 0 stops after step 1; chunk 0 of rank 0 still lacks rank 1, which rank 1 holds: the hop rank 1 → rank 0 never came: was a program called without `yield from`?",
        "rank 0 在第 1 步之后就结束了；它的第 0 块还缺 rank 1，而 rank 1 有它：rank 1 → rank 0 的传输没有发生：是否有程序调用时漏了 `yield from`？",
        text=skeleton("all-reduce"),
    ),
    Answer(
        "all-reduce",
        "the halves the other way round",
        "first wrong hop: step 1, rank 1 → rank 0, chunk 0; on rank 0, chunk 0: rank 0 is no longer in it (line 9): first add up, then hand round: only a finished chunk may replace another",
        "第一处出错的传输：第 1 步，rank 1 → rank 0，第 0 块；rank 0 的第 0 块：rank 0 的那一份丢了（第 9 行）：先求和，再分发：只有完整的块才可以覆盖别的块",
        old="""    yield from reduce_scatter(rank, size, x)  # (p-1)/p of the array sent
    yield from all_gather(rank, size, x)  # (p-1)/p more
""",
        new="""    yield from all_gather(rank, size, x)
    yield from reduce_scatter(rank, size, x)
""",
    ),
    Answer(
        "all-reduce",
        "reduce-scatter twice",
        "first wrong hop: step 2, rank 1 → rank 0, chunk 1; on rank 0, chunk 1: rank 1 is in it twice (line 9)",
        "第一处出错的传输：第 2 步，rank 1 → rank 0，第 1 块；rank 0 的第 1 块：rank 1 被算了两次（第 9 行）",
        old="all_gather(rank, size, x)",
        new="reduce_scatter(rank, size, x)",
    ),
    Answer(
        "all-reduce",
        "forgets yield from",
        "rank 0 stops after step 1; chunk 0 of rank 0 still lacks rank 1, which rank 1 holds: the hop rank 1 → rank 0 never came: was a program called without `yield from`?",
        "rank 0 在第 1 步之后就结束了；它的第 0 块还缺 rank 1，而 rank 1 有它：rank 1 → rank 0 的传输没有发生：是否有程序调用时漏了 `yield from`？",
        old="    yield from all_gather",
        new="    all_gather",
    ),
    Answer(
        "all-reduce",
        "everybody sends everything round",
        "the result is right, but on 3 cards the busiest sends 2 × the array; 4/3 × is enough",
        "结果正确，但 3 张卡时发得最多的卡发出整个数组的 2 倍；4/3 倍就够了",
        old="""    yield from reduce_scatter(rank, size, x)  # (p-1)/p of the array sent
    yield from all_gather(rank, size, x)  # (p-1)/p more
""",
        new="""    from zerolit.comm import Swap

    right, left = (rank + 1) % size, (rank - 1) % size
    passing = x[:]
    for step in range(1, size):
        passing = yield Swap(passing, right, left, x[:], slice(0, size))
        x[:] = x[:] + passing
""",
    ),
    Answer(
        "all-reduce",
        "the lecture's parameter server",
        "the result is right, but on 3 cards the busiest sends 2 × the array; 4/3 × is enough",
        "结果正确，但 3 张卡时发得最多的卡发出整个数组的 2 倍；4/3 倍就够了",
        old="""    yield from reduce_scatter(rank, size, x)  # (p-1)/p of the array sent
    yield from all_gather(rank, size, x)  # (p-1)/p more
""",
        new="""    from zerolit.comm import Swap

    everything = slice(0, size)
    if rank:
        yield Swap(x[:], to=0, chunk=everything)
        x[:] = yield Swap(frm=0, like=x[:])
        return
    for worker in range(1, size):
        x[:] += yield Swap(frm=worker, like=x[:])
    for worker in range(1, size):
        yield Swap(x[:], to=worker, chunk=everything)
""",
    ),
    Answer(
        "broadcast",
        "the skeleton: a line",
        "all get it, but on 4 cards that takes 3 steps; 2 are enough: let every card that has it send it on, not only one",
        "每张卡都收到了，但 4 张卡用了 3 步；2 步就够：已经有它的每张卡都应当接着发，而不是只有一张在发",
        text=skeleton("broadcast"),
    ),
    Answer(
        "broadcast",
        "the root sends to each",
        "all get it, but on 4 cards that takes 3 steps; 2 are enough: let every card that has it send it on, not only one",
        "每张卡都收到了，但 4 张卡用了 3 步；2 步就够：已经有它的每张卡都应当接着发，而不是只有一张在发",
        old="""    distance = 1
    while distance < size:  # ranks below `distance` have it
        if rank < distance and rank + distance < size:
            yield Swap(x[0], to=rank + distance, chunk=0)
        elif distance <= rank < 2 * distance:
            x[0] = yield Swap(frm=rank - distance, like=x[0])
        distance *= 2
""",
        new="""    for other in range(1, size):
        if rank == 0:
            yield Swap(x[0], to=other, chunk=0)
        elif rank == other:
            x[0] = yield Swap(frm=0, like=x[0])
""",
    ),
    Answer(
        "broadcast",
        "past the last rank",
        "rank 1, step 2, line 9: names rank 3, but ranks are 0 to 2; is `% size` missing?",
        "rank 1，第 2 步，第 9 行：收发对象是 rank 3，而编号只有 0 到 2；是否漏了 `% size`？",
        old="if rank < distance and rank + distance < size:",
        new="if rank < distance:",
    ),
    Answer(
        "broadcast",
        "drops what arrives",
        "first wrong hop: step 1, rank 0 → rank 1, chunk 0; rank 1 does nothing with what arrived, and chunk 0 ends without rank 0 (line 11)",
        "第一处出错的传输：第 1 步，rank 0 → rank 1，第 0 块；rank 1 没有用收到的内容，第 0 块最后缺 rank 0（第 11 行）",
        old="x[0] = yield Swap(frm",
        new="yield Swap(frm",
    ),
    Answer(
        "broadcast",
        "adds what arrives",
        "first wrong hop: step 1, rank 0 → rank 1, chunk 0; on rank 1, chunk 0: added to what was there before, which is nobody's share (line 11)",
        "第一处出错的传输：第 1 步，rank 0 → rank 1，第 0 块；rank 1 的第 0 块：加到了原有的内容上，而那不是任何 rank 的数据（第 11 行）",
        old="x[0] = yield Swap(frm",
        new="x[0] += yield Swap(frm",
    ),
    Answer(
        "broadcast",
        "a distance too few",
        "rank 1 stops before its first step; chunk 0 of rank 1 still lacks rank 0, which rank 0 holds: the hop rank 0 → rank 1 never came",
        "rank 1 一步未走就结束了；它的第 0 块还缺 rank 0，而 rank 0 有它：rank 0 → rank 1 的传输没有发生",
        old="while distance < size:",
        new="while 2 * distance < size:",
    ),
    Answer(
        "broadcast",
        "everybody sends at once",
        "nothing can move in step 1: rank 0 offers chunk 0 to rank 1; rank 1 offers chunk 0 to rank 2; rank 2 waits for rank 0; first out of turn: rank 0 in step 1 (line 9)",
        "第 1 步什么也动不了：rank 0 要把第 0 块发给 rank 1；rank 1 要把第 0 块发给 rank 2；rank 2 在等 rank 0；最先不合拍的是第 1 步的 rank 0（第 9 行）",
        old="if rank < distance and rank + distance < size:",
        new="if rank + distance < size:",
    ),
    Answer(
        "cost",
        "the skeleton",
        "4 cards: 0.000106 s instead of 0.000204 s; count the steps, and what one of them costs: α and one chunk over the bandwidth",
        "4 张卡：得到 0.000106 秒，应是 0.000204 秒；数一数有几步，再算一步要多久：α 加上一块除以带宽",
        text=skeleton("cost"),
    ),
    Answer(
        "cost",
        "one half only",
        "4 cards: 0.000102 s instead of 0.000204 s; that is one half of the all-reduce, a reduce-scatter or an all-gather",
        "4 张卡：得到 0.000102 秒，应是 0.000204 秒；这只是 all-reduce 的一半：一次 reduce-scatter 或一次 all-gather",
        old="2 * (size - 1)",
        new="(size - 1)",
    ),
    Answer(
        "cost",
        "a step too many in each half",
        "4 cards: 0.000272 s instead of 0.000204 s; each half takes p − 1 steps, not p: nobody sends to itself",
        "4 张卡：得到 0.000272 秒，应是 0.000204 秒；每一半是 p − 1 步，不是 p 步：没有谁发给自己",
        old="2 * (size - 1)",
        new="2 * size",
    ),
    Answer(
        "cost",
        "latency once",
        "4 cards: 0.000154 s instead of 0.000204 s; the latency is paid in every step, not once",
        "4 张卡：得到 0.000154 秒，应是 0.000204 秒；延迟每一步都要付，不是只付一次",
        old="2 * (size - 1) * (latency + chunk / bandwidth)",
        new="latency + 2 * (size - 1) * chunk / bandwidth",
    ),
    Answer(
        "cost",
        "no latency",
        "4 cards: 0.000144 s instead of 0.000204 s; the latency is left out",
        "4 张卡：得到 0.000144 秒，应是 0.000204 秒；漏了延迟",
        old="(latency + chunk / bandwidth)",
        new="chunk / bandwidth",
    ),
    Answer(
        "cost",
        "the whole array in each step",
        "4 cards: 0.000636 s instead of 0.000204 s; a step carries one chunk, nbytes / p, not the whole array",
        "4 张卡：得到 0.000636 秒，应是 0.000204 秒；一步只传一块，即 nbytes / p，不是整个数组",
        old="chunk / bandwidth",
        new="nbytes / bandwidth",
    ),
    Answer(
        "cost",
        "bits for bytes",
        "4 cards: 7.8e-05 s instead of 0.000204 s; bandwidth is in bytes per second here, not in bits",
        "4 张卡：得到 7.8e-05 秒，应是 0.000204 秒；这里的带宽以字节每秒计，不是比特",
        old="chunk / bandwidth",
        new="chunk / (8 * bandwidth)",
    ),
    Answer(
        "cost",
        "returns nothing",
        "returns None, not a number",
        "返回了 None，而不是一个数",
        old="return 2",
        new="2",
    ),
    Answer(
        "wall",
        "the skeleton",
        "4,160 tokens a card instead of 12,480; set what is sent over the bandwidth equal to the part of the compute that hides it",
        "得到每卡 4,160 个 token，应是 12,480；令通信量除以带宽等于能掩盖它的那部分计算时间",
        text=skeleton("wall"),
    ),
    Answer(
        "wall",
        "the forward pass only",
        "37,440 tokens a card instead of 12,480; a token costs 6 operations for each parameter; 2 is the forward pass alone",
        "得到每卡 37,440 个 token，应是 12,480；每个 token 每个参数要 6 次运算；2 次只是前向",
        old="6 / flops",
        new="2 / flops",
    ),
    Answer(
        "wall",
        "the backward pass twice",
        "18,720 tokens a card instead of 12,480; the compute is 6 operations for each parameter and token, and `overlap` already says which part of it hides the ring",
        "得到每卡 18,720 个 token，应是 12,480；计算量是每个参数、每个 token 6 次运算；其中哪一部分能掩盖通信，`overlap` 已经说明了",
        old="6 / flops",
        new="4 / flops",
    ),
    Answer(
        "wall",
        "the gradients once",
        "6,240 tokens a card instead of 12,480; an all-reduce sends nearly twice the gradients: a reduce-scatter and an all-gather",
        "得到每卡 6,240 个 token，应是 12,480；all-reduce 发送的接近梯度的两倍：一次 reduce-scatter 加一次 all-gather",
        old="2 * gradient_bytes",
        new="gradient_bytes",
    ),
    Answer(
        "wall",
        "times the overlap",
        "5,547 tokens a card instead of 12,480; less overlap takes more tokens: divide by it",
        "得到每卡 5,547 个 token，应是 12,480；重叠越少，需要的 token 越多：应当除以它",
        old="ring / (overlap * token)",
        new="ring * overlap / token",
    ),
    Answer(
        "wall",
        "no overlap",
        "8,320 tokens a card instead of 12,480; only a part of the compute, `overlap`, hides the ring",
        "得到每卡 8,320 个 token，应是 12,480；能掩盖通信的只是计算的一部分，即 `overlap`",
        old="ring / (overlap * token)",
        new="ring / token",
    ),
    Answer(
        "wall",
        "bits for bytes",
        "1,560 tokens a card instead of 12,480; bandwidth is in bytes per second here, not in bits",
        "得到每卡 1,560 个 token，应是 12,480；这里的带宽以字节每秒计，不是比特",
        old="gradient_bytes / bandwidth",
        new="gradient_bytes / (8 * bandwidth)",
    ),
    Answer(
        "wall",
        "the parameters on one side",
        "16,224,000,000,000 tokens a card instead of 12,480; the parameters stand on both sides, in what is sent and in what is computed: they cancel",
        "得到每卡 16,224,000,000,000 个 token，应是 12,480；参数量在等式两边都有，通信量里有，计算量里也有：会约掉",
        old="ring / (overlap * token)",
        new="params * ring / (overlap * token)",
    ),
    Answer(
        "two-level",
        "the skeleton: one ring",
        "the sum is right, but with 2 nodes of 2 cards one card sends 3/2 of the array out of its node; 1/2 is enough: add up inside the node first, and let each card take a share of the node's sum across",
        "求和正确，但 2 个节点、每个 2 张卡时，有一张卡向节点外发出数组的 3/2；1/2 就够：先在节点内求和，再让每张卡各带节点和的一份去跨节点",
        text=skeleton("two-level"),
    ),
    Answer(
        "two-level",
        "the whole array between nodes",
        "the sum is right, but with 2 nodes of 2 cards one card sends 1 of the array out of its node; 1/2 is enough: add up inside the node first, and let each card take a share of the node's sum across",
        "求和正确，但 2 个节点、每个 2 张卡时，有一张卡向节点外发出数组的 1；1/2 就够：先在节点内求和，再让每张卡各带节点和的一份去跨节点",
        old="""    mine = (card + 1) % cards  # the share that this card now owns
    single = [slice(mine * nodes + n, mine * nodes + n + 1) for n in range(nodes)]
    peers = [other * cards + card for other in range(nodes)]
    yield from around(peers, node, x, single, adds=True)  # between nodes
    yield from around(peers, node, x, single, adds=False)
    yield from around(mates, card, x, shares, adds=False)
""",
        new="""    yield from around(mates, card, x, shares, adds=False)
    parts = [x_range(part, cards) for part in range(nodes)]
    peers = [other * cards + card for other in range(nodes)]
    yield from around(peers, node, x, parts, adds=True)
    yield from around(peers, node, x, parts, adds=False)
""",
    ),
    Answer(
        "two-level",
        "no way back inside the node",
        "rank 0 stops after step 3; chunk 0 of rank 0 still lacks rank 1, 2, 3, which rank 3 holds: the hop rank 3 → rank 0 never came",
        "rank 0 在第 3 步之后就结束了；它的第 0 块还缺 rank 1、2、3，而 rank 3 有它：rank 3 → rank 0 的传输没有发生",
        old="""    yield from around(mates, card, x, shares, adds=False)
""",
        new="",
    ),
    Answer(
        "two-level",
        "nothing between nodes",
        "rank 0 stops before its first step; chunk 0 of rank 0 still lacks rank 1, which rank 1 holds: the hop rank 1 → rank 0 never came",
        "rank 0 一步未走就结束了；它的第 0 块还缺 rank 1，而 rank 1 有它：rank 1 → rank 0 的传输没有发生",
        old="""    yield from around(peers, node, x, single, adds=True)  # between nodes
    yield from around(peers, node, x, single, adds=False)
""",
        new="",
    ),
    Answer(
        "two-level",
        "takes the wrong share across",
        "first wrong hop: step 4, rank 1 → rank 0, chunk 0; on rank 0, chunk 0: rank 2 is no longer in it (line 31)",
        "第一处出错的传输：第 4 步，rank 1 → rank 0，第 0 块；rank 0 的第 0 块：rank 2 的那一份丢了（第 31 行）",
        old="mine = (card + 1) % cards  # the share that this card now owns",
        new="mine = card",
    ),
    Answer(
        "two-level",
        "the peers of another card",
        "nothing can move in step 4: rank 0 offers chunks 2 to 3 to rank 1 and waits for rank 1; rank 1 offers chunk 0 to rank 2 and waits for rank 2; rank 2 offers chunks 2 to 3 to rank 3 and waits for rank 3; rank 3 offers chunk 1 to rank 0 and waits for rank 0; first out of turn: rank 1 in step 2 (line 31)",
        "第 4 步什么也动不了：rank 0 要把第 2 到 3 块发给 rank 1，在等 rank 1；rank 1 要把第 0 块发给 rank 2，在等 rank 2；rank 2 要把第 2 到 3 块发给 rank 3，在等 rank 3；rank 3 要把第 1 块发给 rank 0，在等 rank 0；最先不合拍的是第 2 步的 rank 1（第 31 行）",
        old="[other * cards + card for other in range(nodes)]",
        new="[other * cards for other in range(nodes)]",
    ),
    Answer(
        "two-level",
        "adds in every round",
        "first wrong hop: step 4, rank 3 → rank 0, chunk 0; on rank 0, chunk 0: rank 0 is in it twice (line 31)",
        "第一处出错的传输：第 4 步，rank 3 → rank 0，第 0 块；rank 0 的第 0 块：rank 0 被算了两次（第 31 行）",
        old="x[receive] = x[receive] + arrived if adds else arrived",
        new="x[receive] = x[receive] + arrived",
    ),
    Answer(
        "culprit",
        "the skeleton: the first that does not wait",
        "0 returned, 1 returned, 2 waits for 3, 3 gone: nobody who stands still waits, directly or through others, for rank 0; it is rank 3",
        "0 已返回，1 已返回，2 在等 3，3 没有回应：停住的 rank 里，没有谁直接或间接在等 rank 0；出错的是 rank 3",
        text=skeleton("culprit"),
    ),
    Answer(
        "culprit",
        "the first that complains",
        "0 gone, 1 waits for 0: rank 1 only waits for rank 0, and that one is at fault",
        "0 没有回应，1 在等 0：rank 1 只是在等 rank 0，出错的是后者",
        old="""    while reports[rank][0] == "waits":
        rank = reports[rank][1]
""",
        new="",
    ),
    Answer(
        "culprit",
        "only one neighbour on",
        "0 waits for 3, 1 waits for 2, 2 gone, 3 waits for 2: rank 3 only waits for rank 2, and that one is at fault",
        "0 在等 3，1 在等 2，2 没有回应，3 在等 2：rank 3 只是在等 rank 2，出错的是后者",
        old="""    while reports[rank][0] == "waits":
        rank = reports[rank][1]
""",
        new="""    rank = reports[rank][1]
""",
    ),
    Answer(
        "culprit",
        "the first that is gone",
        "0 computes, 1 waits for 0: returns None, not the number of a rank, 0 to 1",
        "0 在计算，1 在等 0：返回了 None，而不是 0 到 1 之间的 rank 编号",
        text="""def culprit(reports):
    for rank, (doing, _) in enumerate(reports):
        if doing == "gone":
            return rank
""",
    ),
    Answer(
        "culprit",
        "for whom most wait",
        "0 waits for 1, 1 gone, 2 waits for 0: rank 0 only waits for rank 1, and that one is at fault",
        "0 在等 1，1 没有回应，2 在等 0：rank 0 只是在等 rank 1，出错的是后者",
        text="""def culprit(reports):
    waited = [peer for doing, peer in reports if doing == "waits"]
    return max(range(len(reports)), key=waited.count)
""",
    ),
    Answer(
        "culprit",
        "for whom it waits, not who",
        "0 gone, 1 waits for 0: returns ('gone', None), not the number of a rank, 0 to 1",
        "0 没有回应，1 在等 0：返回了 ('gone', None)，而不是 0 到 1 之间的 rank 编号",
        old="""        rank = reports[rank][1]
    return rank""",
        new="""        rank = reports[rank][1]
    return reports[rank]""",
    ),
    Answer(
        "mean-loss",
        "the skeleton",
        "2 ranks: rank 0 gets 1.75 instead of 1.857; that is the mean of the ranks' means: it weighs ranks, not tokens",
        "2 个 rank：rank 0 得到 1.75，应是 1.857；这是各 rank 平均的平均：它给 rank 加权，而不是给 token 加权",
        text=skeleton("mean-loss"),
    ),
    Answer(
        "mean-loss",
        "never divided",
        "2 ranks: rank 0 gets 13 instead of 1.857; that is the sum, divided by nothing",
        "2 个 rank：rank 0 得到 13，应是 1.857；这是和，没有除以任何数",
        old="return total / tokens",
        new="return total",
    ),
    Answer(
        "mean-loss",
        "divided by the ranks",
        "2 ranks: rank 0 gets 6.5 instead of 1.857; the sum is divided by the number of ranks, not of tokens",
        "2 个 rank：rank 0 得到 6.5，应是 1.857；和除以的是 rank 数，而不是 token 数",
        old="return total / tokens",
        new="return total / size",
    ),
    Answer(
        "mean-loss",
        "divided twice",
        "2 ranks: rank 0 gets 0.9286 instead of 1.857; divided twice, by the tokens and by the ranks",
        "2 个 rank：rank 0 得到 0.9286，应是 1.857；除了两次：除以 token 数，又除以 rank 数",
        old="return total / tokens",
        new="return total / tokens / size",
    ),
    Answer(
        "mean-loss",
        "its own tokens only",
        "2 ranks: rank 0 gets 2 instead of 1.857; that is the mean of its own tokens alone",
        "2 个 rank：rank 0 得到 2，应是 1.857；这只是它自己的 token 的均值",
        old="""    yield from all_reduce(rank, size, both)
""",
        new="""    yield from all_reduce(rank, size, both.clone())
""",
    ),
    Answer(
        "mean-loss",
        "all losses over its own tokens",
        "2 ranks: rank 0 gets 2.6 instead of 1.857; the sum is of all ranks, the number of tokens its own",
        "2 个 rank：rank 0 得到 2.6，应是 1.857；和是所有 rank 的，除数却只是它自己的 token 数",
        old="return total / tokens",
        new="return total / max(len(losses), 1)",
    ),
    Answer(
        "mean-loss",
        "a mean of means that knows empty ranks",
        "2 ranks: rank 0 gets 3.5 instead of 1.857; that is the sum of the ranks' means; add up losses and tokens, not means",
        "2 个 rank：rank 0 得到 3.5，应是 1.857；这是各 rank 均值之和；应当相加的是损失和 token 数，不是均值",
        text="""from zerolit.exercises.given import all_reduce


def mean_loss(rank, size, losses):
    mean = losses.sum().reshape(1) / max(len(losses), 1)
    yield from all_reduce(rank, size, mean)
    return mean.item()
""",
    ),
    Answer(
        "mean-loss",
        "the tensor of both",
        "2 ranks: rank 0 returns tensor([13.,  7.]), not a number",
        "2 个 rank：rank 0 返回了 tensor([13.,  7.])，而不是一个数",
        old="""    total, tokens = both.tolist()
    return total / tokens""",
        new="    return both",
    ),
    Answer(
        "data-parallel",
        "the skeleton",
        "2 ranks, rank 0: only the last micro-batch is in it",
        "2 个 rank，rank 0：里面只有最后一个 micro-batch",
        text=skeleton("data-parallel"),
    ),
    Answer(
        "data-parallel",
        "never divided",
        "2 ranks, rank 0: the gradient is summed, and divided by nothing; AdamW would hide it, SGD and clipping do not",
        "2 个 rank，rank 0：梯度求了和，却没有除；AdamW 会掩盖这一点，SGD 和梯度裁剪不会",
        old="return total / count",
        new="return total",
    ),
    Answer(
        "data-parallel",
        "divided by the ranks",
        "2 ranks, rank 0: divided by the number of ranks, but these are gradients of summed losses: divide by the tokens of all ranks",
        "2 个 rank，rank 0：除以的是 rank 数；但这些是损失之和的梯度，应当除以所有 rank 的 token 总数",
        old="return total / count",
        new="return total / size",
    ),
    Answer(
        "data-parallel",
        "divided twice",
        "2 ranks, rank 0: divided twice, by the tokens and by the ranks",
        "2 个 rank，rank 0：除了两次：除以 token 数，又除以 rank 数",
        old="return total / count",
        new="return total / count / size",
    ),
    Answer(
        "data-parallel",
        "its own tokens",
        "2 ranks, rank 0: the gradient is of all ranks, the number of tokens its own",
        "2 个 rank，rank 0：梯度是所有 rank 的，除数却只是它自己的 token 数",
        old="""    yield from all_reduce(rank, size, count)
""",
        new="""    yield from all_reduce(rank, size, count.clone())
""",
    ),
    Answer(
        "data-parallel",
        "nothing over the ranks",
        "2 ranks, rank 0: that is its own gradient; nothing is summed over the ranks",
        "2 个 rank，rank 0：这只是它自己的梯度，没有在 rank 之间求和",
        old="""    yield from all_reduce(rank, size, count)
    total = torch.stack(gradients).sum(0)  # first here, in memory
    yield from all_reduce(rank, size, total)  # then once over the ranks
""",
        new="""    total = torch.stack(gradients).sum(0)
    yield from all_reduce(rank, size, total.clone())
""",
    ),
    Answer(
        "data-parallel",
        "every micro-batch apart",
        "the gradient is right, but 2 ranks send 38 numbers, 3 times the 12 that are enough: add up the micro-batches before you talk",
        "梯度正确，但 2 个 rank 共发送 38 个数，是所需 12 个的 3 倍：应当先把 micro-batch 加起来再通信",
        text="""import torch

from zerolit.exercises.given import all_reduce


def data_parallel(rank, size, gradients, tokens):
    count = torch.tensor([float(sum(tokens))])
    yield from all_reduce(rank, size, count)
    for gradient in gradients:
        yield from all_reduce(rank, size, gradient)
    return torch.stack(gradients).sum(0) / count
""",
    ),
    Answer(
        "data-parallel",
        "the mean of the ranks' means",
        "2 ranks, rank 0: that is the mean of the ranks' means: it weighs ranks, not tokens",
        "2 个 rank，rank 0：这是各 rank 平均的平均：它给 rank 加权，而不是给 token 加权",
        text="""import torch

from zerolit.exercises.given import all_reduce


def data_parallel(rank, size, gradients, tokens):
    mean = torch.stack(gradients).sum(0) / sum(tokens)
    yield from all_reduce(rank, size, mean)
    return mean / size
""",
    ),
    Answer(
        "data-parallel",
        "the mean of micro-batches",
        "2 ranks, rank 0: divided by the number of micro-batches, which have unequal numbers of tokens",
        "2 个 rank，rank 0：除以的是 micro-batch 的个数，而各个 micro-batch 的 token 数并不相等",
        old="return total / count",
        new="return total / (size * len(gradients))",
    ),
    Answer(
        "adamw-slice",
        "the skeleton",
        "2 slices, step 1: slice 0 is not what torch.optim.AdamW gives; m and v start at 0, so both are divided by 1 − βᵗ",
        "切成 2 段，第 1 步：第 0 段与 torch.optim.AdamW 的结果不同；m 和 v 从 0 开始，因此都要除以 1 − βᵗ",
        text=skeleton("adamw-slice"),
    ),
    Answer(
        "adamw-slice",
        "decay in the gradient",
        "2 slices, step 1: slice 0 is not what torch.optim.AdamW gives; decay was added to the gradient, which is Adam with L2; AdamW shrinks the parameter itself",
        "切成 2 段，第 1 步：第 0 段与 torch.optim.AdamW 的结果不同；权重衰减加进了梯度，那是带 L2 的 Adam；AdamW 直接缩小参数本身",
        old="    m.mul_(beta1)",
        new="""    gradient = gradient + wd * parameters
    wd = 0
    m.mul_(beta1)""",
    ),
    Answer(
        "adamw-slice",
        "no decay",
        "2 slices, step 1: slice 0 is not what torch.optim.AdamW gives; the weight decay is left out",
        "切成 2 段，第 1 步：第 0 段与 torch.optim.AdamW 的结果不同；漏了权重衰减",
        old="""    parameters.mul_(1 - lr * wd)
""",
        new="",
    ),
    Answer(
        "adamw-slice",
        "ε under the root",
        "2 slices, step 1: slice 0 is not what torch.optim.AdamW gives; ε is added after the root, not under it",
        "切成 2 段，第 1 步：第 0 段与 torch.optim.AdamW 的结果不同；ε 加在开方之后，不在根号里",
        old="v.sqrt() / math.sqrt(1 - beta2**step) + eps",
        new="(v / (1 - beta2**step) + eps).sqrt()",
    ),
    Answer(
        "adamw-slice",
        "v of |g|",
        "2 slices, step 1: slice 0 is not what torch.optim.AdamW gives; v is the average of g², not of |g|",
        "切成 2 段，第 1 步：第 0 段与 torch.optim.AdamW 的结果不同；v 是 g² 的平均，不是 |g| 的平均",
        old="v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)",
        new="v.mul_(beta2).add_(gradient.abs(), alpha=1 - beta2)",
    ),
    Answer(
        "adamw-slice",
        "new m and v, which are lost",
        "2 slices, step 2: slice 0 is not what torch.optim.AdamW gives; m and v are not as they should be: change them in place, too, for the next step",
        "切成 2 段，第 2 步：第 0 段与 torch.optim.AdamW 的结果不同；m 和 v 不对：它们也要就地修改，留给下一步用",
        old="""    m.mul_(beta1).add_(gradient, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
""",
        new="""    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
""",
    ),
    Answer(
        "adamw-slice",
        "new parameters, which are lost",
        "2 slices, step 1: slice 0 is not what torch.optim.AdamW gives; the parameters did not change: change them in place",
        "切成 2 段，第 1 步：第 0 段与 torch.optim.AdamW 的结果不同；参数没有变：要就地修改",
        old="""    parameters.mul_(1 - lr * wd)
    parameters.sub_(lr / (1 - beta1**step) * m / denominator)
""",
        new="""    parameters = parameters * (1 - lr * wd) - lr / (1 - beta1**step) * m / denominator
""",
    ),
    Answer(
        "adamw-slice",
        "step counted once too often",
        "2 slices, step 1: slice 0 is not what torch.optim.AdamW gives; `step` counts from 1 already: β¹ in the first step",
        "切成 2 段，第 1 步：第 0 段与 torch.optim.AdamW 的结果不同；`step` 已经从 1 数起：第一步用 β¹",
        old="    m.mul_(beta1)",
        new="""    step = step + 1
    m.mul_(beta1)""",
    ),
    Answer(
        "adamw-slice",
        "decay after the update",
        "2 slices, step 1: slice 0 is not what torch.optim.AdamW gives; compare each line with the formulas",
        "切成 2 段，第 1 步：第 0 段与 torch.optim.AdamW 的结果不同；请逐行与公式对照",
        old="""    parameters.mul_(1 - lr * wd)
    parameters.sub_(lr / (1 - beta1**step) * m / denominator)
""",
        new="""    parameters.sub_(lr / (1 - beta1**step) * m / denominator)
    parameters.mul_(1 - lr * wd)
""",
    ),
    Answer(
        "clip",
        "the skeleton: its own norm",
        "2 ranks, norm 5.099, at most 1; rank 0: the slice is scaled by its own norm, so each rank takes another factor",
        "2 个 rank，范数 5.099，上限 1；rank 0：按自己这一段的范数缩放，于是各 rank 的系数不同",
        text=skeleton("clip"),
    ),
    Answer(
        "clip",
        "norms added up",
        "2 ranks, norm 5.099, at most 1; rank 0: norms were added up; add up their squares, and take the root once",
        "2 个 rank，范数 5.099，上限 1；rank 0：把范数直接相加了；应当把范数的平方相加，最后开一次方",
        old="""    squares = share.square().sum().reshape(1)
    yield from all_reduce(rank, size, squares)
    factor = max_norm / (squares.sqrt() + 1e-6)
""",
        new="""    norm = share.norm().reshape(1)
    yield from all_reduce(rank, size, norm)
    factor = max_norm / (norm + 1e-6)
""",
    ),
    Answer(
        "clip",
        "no root",
        "2 ranks, norm 5.099, at most 1; rank 0: the root of the sum of squares is missing",
        "2 个 rank，范数 5.099，上限 1；rank 0：平方和没有开方",
        old="squares.sqrt()",
        new="squares",
    ),
    Answer(
        "clip",
        "no clamp",
        "2 ranks, norm 5.099, at most 1e+06; rank 0: a gradient below the bound is scaled up; the factor is at most 1",
        "2 个 rank，范数 5.099，上限 1e+06；rank 0：把没有超限的梯度放大了；系数最大是 1",
        old="torch.clamp(factor, max=1.0)",
        new="factor",
    ),
    Answer(
        "clip",
        "the bound split among ranks",
        "2 ranks, norm 5.099, at most 1; rank 0: the bound was divided by the number of ranks; it holds for the whole norm",
        "2 个 rank，范数 5.099，上限 1；rank 0：把上限除以了 rank 数；上限针对的是整体范数",
        old="max_norm / (squares",
        new="max_norm / size / (squares",
    ),
    Answer(
        "clip",
        "the mean of squares",
        "2 ranks, norm 5.099, at most 1; rank 0: squares were averaged over the ranks; add them up",
        "2 个 rank，范数 5.099，上限 1；rank 0：把平方在 rank 间取了平均；应当求和",
        old="(squares.sqrt() + 1e-6)",
        new="((squares / size).sqrt() + 1e-6)",
    ),
    Answer(
        "clip",
        "a new slice, which is lost",
        "2 ranks, norm 5.099, at most 1; rank 0: the slice is not scaled: change it in place",
        "2 个 rank，范数 5.099，上限 1；rank 0：这一段没有缩放：要就地修改",
        old="    share.mul_(torch.clamp(factor, max=1.0))",
        new="    share = share * torch.clamp(factor, max=1.0)",
    ),
    Answer(
        "clip",
        "the whole gradient to everybody",
        "the slices are right, but a rank of 2 sends 4 numbers; about 2 are enough: a norm is one number, the gradient stays where it is",
        "结果正确，但 2 个 rank 时有一个发送 4 个数；约 2 个就够：范数只是一个数，梯度不必动",
        text="""import torch

from zerolit.exercises.given import all_reduce


def clip(rank, size, share, max_norm):
    whole = torch.zeros(size, len(share))
    whole[rank] = share
    whole = whole.reshape(-1)
    yield from all_reduce(rank, size, whole)
    share.mul_(torch.clamp(max_norm / (whole.norm() + 1e-6), max=1.0))
""",
    ),
    Answer(
        "zero1",
        "the skeleton: an optimizer of the whole",
        "the parameters are right, but rank 0 of 2 holds 18 numbers after the step; 12 are enough: 6 parameters, and m and v for its own 3 only",
        "参数正确，但 2 个 rank 时 rank 0 在一步之后存 18 个数；12 个就够：6 个参数，加上自己那 3 个参数的 m 和 v",
        text=skeleton("zero1"),
    ),
    Answer(
        "zero1",
        "its own gradient alone",
        "2 ranks, step 1: rank 0 updates by its own gradient alone; sum it over the ranks first",
        "2 个 rank，第 1 步：rank 0 只用自己的梯度更新；应先在各 rank 间求和",
        old="""    mine = yield from reduce_scatter(rank, size, gradient)
""",
        new="""    mine = cut(gradient, size)[rank]
""",
    ),
    Answer(
        "zero1",
        "no all-gather",
        "2 ranks, step 1: rank 0 has new parameters in some slices and the old ones in the others; gather what the other ranks updated, in the slices of `cut`",
        "2 个 rank，第 1 步：rank 0 的参数只有部分段是新的，其余还是旧的；要把其他 rank 更新好的段收集过来，切法与 `cut` 相同",
        old="""    yield from all_gather(rank, size, parameters)
""",
        new="",
    ),
    Answer(
        "zero1",
        "nobody gathers, all keep the whole updated by their own gradient",
        "2 ranks, step 1: rank 0 updates by its own gradient alone; sum it over the ranks first",
        "2 个 rank，第 1 步：rank 0 只用自己的梯度更新；应先在各 rank 间求和",
        text="""from zerolit.zero import FlatAdamW


def zero1(rank, size, parameters, gradient, kept):
    adamw = kept.setdefault("adamw", FlatAdamW(len(parameters)))
    adamw.step(parameters, gradient)
    yield from ()
""",
    ),
    Answer(
        "zero1",
        "a slice off by one",
        "2 ranks, step 1: the parameters of rank 0 did not change; update its own slice of them, in place",
        "2 个 rank，第 1 步：rank 0 的参数没有变；要就地更新它自己的那一段",
        old="cut(parameters, size)[rank]",
        new="cut(parameters, size)[(rank + 1) % size]",
    ),
    Answer(
        "zero1",
        "a new optimizer in every step",
        "2 ranks: step 1 is right, step 2 of rank 0 is not; m and v must stay from one step to the next",
        "2 个 rank：第 1 步正确，rank 0 的第 2 步不对；m 和 v 要从上一步保留到下一步",
        old="""    if "adamw" not in kept:
        kept["adamw"] = FlatAdamW(len(share))
""",
        new="""    kept["adamw"] = FlatAdamW(len(share))
""",
    ),
    Answer(
        "zero1",
        "an all-reduce, then its slice",
        "the parameters are right, but 2 ranks send 36 numbers; 24 are enough: nobody needs the whole sum of the gradients",
        "参数正确，但 2 个 rank 共发送 36 个数；24 个就够：谁都不需要完整的梯度和",
        text="""from zerolit.exercises.given import all_gather, all_reduce, cut
from zerolit.zero import FlatAdamW


def zero1(rank, size, parameters, gradient, kept):
    yield from all_reduce(rank, size, gradient)
    mine = cut(gradient, size)[rank]
    share = cut(parameters, size)[rank]
    adamw = kept.setdefault("adamw", FlatAdamW(len(share)))
    adamw.step(share, mine)
    yield from all_gather(rank, size, parameters)
""",
    ),
    Answer(
        "zero1",
        "states of the whole, of which a slice is used",
        "the parameters are right, but rank 0 of 2 holds 18 numbers after the step; 12 are enough: 6 parameters, and m and v for its own 3 only",
        "参数正确，但 2 个 rank 时 rank 0 在一步之后存 18 个数；12 个就够：6 个参数，加上自己那 3 个参数的 m 和 v",
        text="""import torch

from zerolit.exercises.given import all_gather, cut, reduce_scatter
from zerolit.zero import FlatAdamW


def zero1(rank, size, parameters, gradient, kept):
    mine = yield from reduce_scatter(rank, size, gradient)
    share = cut(parameters, size)[rank]
    adamw = kept.setdefault("adamw", FlatAdamW(len(parameters)))
    whole = torch.zeros_like(parameters)
    updated = parameters.clone()
    cut(whole, size)[rank].copy_(mine)
    adamw.step(updated, whole)
    share.copy_(cut(updated, size)[rank])
    yield from all_gather(rank, size, parameters)
""",
    ),
    Answer(
        "zero1",
        "the updated slice is a copy",
        "2 ranks, step 1: the parameters of rank 0 did not change; update its own slice of them, in place",
        "2 个 rank，第 1 步：rank 0 的参数没有变；要就地更新它自己的那一段",
        old="cut(parameters, size)[rank]",
        new="cut(parameters, size)[rank].clone()",
    ),
    Answer(
        "zero1",
        "through a global, past the messages",
        "the result is right, but on 2 ranks only 16 numbers were sent, and 24 is the least: something arrived that no message brought",
        "结果正确，但 2 个 rank 总共只发送了 16 个数，而下界是 24：有内容不是由消息送来的",
        text="""import torch

from zerolit.exercises.given import all_reduce, cut
from zerolit.zero import FlatAdamW

SEEN = {}


def zero1(rank, size, parameters, gradient, kept):
    SEEN[rank] = gradient
    yield from all_reduce(rank, size, torch.zeros(size))
    total = sum(SEEN[r] for r in range(size))
    share = cut(parameters, size)[rank]
    adamw = kept.setdefault("adamw", FlatAdamW(len(share)))
    adamw.step(share, cut(total, size)[rank])
    SEEN[-1 - rank] = share
    yield from all_reduce(rank, size, torch.zeros(size))
    for r in range(size):
        cut(parameters, size)[r].copy_(SEEN[-1 - r])
    SEEN.pop(rank)
""",
    ),
    Answer(
        "zero1",
        "forgets yield from",
        "line 11: AttributeError: 'generator' object has no attribute 'shape'; is `yield from` missing before a call?",
        "第 11 行：AttributeError: 'generator' object has no attribute 'shape'；调用前是否漏了 `yield from`？",
        old="yield from reduce_scatter",
        new="reduce_scatter",
    ),
    Answer(
        "zero1",
        "a bare yield",
        "rank 0, step 2: yields None; a rank program may only yield Swap(…), and calls another one by `yield from`",
        "rank 0，第 2 步：yield 了 None；rank 程序只能 yield Swap(…)，调用另一个程序要写 `yield from`",
        old="""    yield from all_gather(rank, size, parameters)
""",
        new="""    yield
    yield from all_gather(rank, size, parameters)
""",
    ),
    Answer(
        "zero1",
        "the gradient is kept for later",
        "the parameters are right, but rank 0 of 2 holds 18 numbers after the step; 12 are enough: 6 parameters, and m and v for its own 3 only",
        "参数正确，但 2 个 rank 时 rank 0 在一步之后存 18 个数；12 个就够：6 个参数，加上自己那 3 个参数的 m 和 v",
        old="""    kept["adamw"].step(share, mine)
""",
        new="""    kept["adamw"].step(share, mine)
    kept["mine"] = mine
""",
    ),
    Answer(
        "zero2",
        "the skeleton: the whole, and only the last micro-batch",
        "2 ranks, rank 0, layer 0: holds the last micro-batch only; add what the earlier ones gave",
        "2 个 rank，rank 0，第 0 层：只有最后一个 micro-batch 的梯度；要加上前面各次的",
        text=skeleton("zero2"),
    ),
    Answer(
        "zero2",
        "all micro-batches kept, then reduced once",
        "the slices are right, but rank 0 of 2 once held 60 numbers; 42 are enough, 10 slices and 2 whole layers: reduce a layer's gradient as soon as it is there, and let the whole go (a view of it keeps it)",
        "各段正确，但 2 个 rank 时 rank 0 一度持有 60 个数；42 个就够，即 10 段加 2 层完整梯度：某层的梯度一算出来就归约，随即释放整层（留着它的视图，整层就还在）",
        text="""from zerolit.exercises.given import reduce_scatter


def zero2(rank, size, passes):
    whole = {}
    for backward in passes:
        for layer, gradient in backward:
            whole[layer] = whole.get(layer, 0) + gradient
    slices = []
    for layer in sorted(whole):
        slices.append((yield from reduce_scatter(rank, size, whole[layer])))
    return slices
""",
    ),
    Answer(
        "zero2",
        "a view of the whole is kept",
        "the slices are right, but rank 0 of 2 once held 63 numbers; 42 are enough, 10 slices and 2 whole layers: reduce a layer's gradient as soon as it is there, and let the whole go (a view of it keeps it)",
        "各段正确，但 2 个 rank 时 rank 0 一度持有 63 个数；42 个就够，即 10 段加 2 层完整梯度：某层的梯度一算出来就归约，随即释放整层（留着它的视图，整层就还在）",
        old=" = mine.clone()  # a view would keep the whole",
        new=" = mine",
    ),
    Answer(
        "zero2",
        "nothing is reduced",
        "2 ranks, rank 0, layer 0: is this rank's own gradient; sum it over the ranks",
        "2 个 rank，rank 0，第 0 层：是本 rank 自己的梯度；要在各 rank 间求和",
        text="""from zerolit.exercises.given import cut


def zero2(rank, size, passes):
    kept = {}
    for backward in passes:  # one micro-batch after the other
        for layer, gradient in backward:  # the last layer comes first
            mine = cut(gradient, size)[rank]
            yield from ()
            if layer in kept:
                kept[layer] += mine
            else:
                kept[layer] = mine.clone()  # a view would keep the whole
            del gradient, mine
    return [kept[layer] for layer in sorted(kept)]
""",
    ),
    Answer(
        "zero2",
        "only the first micro-batch",
        "2 ranks, rank 0, layer 0: holds the first micro-batch only; add what the later ones give",
        "2 个 rank，rank 0，第 0 层：只有第一个 micro-batch 的梯度；要加上后面各次的",
        old="""                kept[layer] += mine
""",
        new="""                pass
""",
    ),
    Answer(
        "zero2",
        "an all-reduce, of which a slice is kept",
        "the slices are right, but 2 ranks send 192 numbers; 96 are enough: each rank needs its own slice of the sum only",
        "各段正确，但 2 个 rank 共发送 192 个数；96 个就够：每个 rank 只需要和的一段",
        text="""from zerolit.exercises.given import all_reduce, cut


def zero2(rank, size, passes):
    kept = {}
    for backward in passes:  # one micro-batch after the other
        for layer, gradient in backward:  # the last layer comes first
            yield from all_reduce(rank, size, gradient)
            mine = cut(gradient, size)[rank]
            if layer in kept:
                kept[layer] += mine
            else:
                kept[layer] = mine.clone()  # a view would keep the whole
            del gradient, mine
    return [kept[layer] for layer in sorted(kept)]
""",
    ),
    Answer(
        "zero2",
        "the slice of the neighbour",
        "2 ranks, rank 0, layer 0: is not this rank's slice of the sum over ranks and micro-batches",
        "2 个 rank，rank 0，第 0 层：不是各 rank、各 micro-batch 梯度之和中属于本 rank 的那一段",
        text="""from zerolit.exercises.given import cut, reduce_scatter


def zero2(rank, size, passes):
    kept = {}
    for backward in passes:  # one micro-batch after the other
        for layer, gradient in backward:  # the last layer comes first
            mine = yield from reduce_scatter(rank, size, gradient)
            if layer in kept:
                kept[layer] += mine
            else:
                kept[layer] = cut(gradient, size)[(rank + 1) % size].clone()  # a view would keep the whole
            del gradient, mine
    return [kept[layer] for layer in sorted(kept)]
""",
    ),
    Answer(
        "zero2",
        "the whole sum is returned",
        "line 11: RuntimeError: The size of tensor a (6) must match the size of tensor b (3) at non-singleton dimension 0",
        "第 11 行：RuntimeError: The size of tensor a (6) must match the size of tensor b (3) at non-singleton dimension 0",
        old="kept[layer] = mine.clone()  # a view would keep the whole",
        new="kept[layer] = gradient",
    ),
    Answer(
        "zero2",
        "a dict is returned",
        "2 ranks, rank 0: returned dict, not a list of 8 slices",
        "2 个 rank，rank 0：返回了 dict，而不是 8 段组成的列表",
        old="[kept[layer] for layer in sorted(kept)]",
        new="kept",
    ),
    Answer(
        "zero2",
        "the average over the ranks",
        "2 ranks, rank 0, layer 0: is not this rank's slice of the sum over ranks and micro-batches",
        "2 个 rank，rank 0，第 0 层：不是各 rank、各 micro-batch 梯度之和中属于本 rank 的那一段",
        old="kept[layer] for",
        new="kept[layer] / size for",
    ),
    Answer(
        "zero3",
        "the skeleton: gathered once and kept, and tied weights overwritten",
        "2 ranks, rank 0: unit 0 is used by two layers, and only one use is in its gradient; add both",
        "2 个 rank，rank 0：单元 0 被两层使用，梯度里却只有一次使用的贡献；两次要相加",
        text=skeleton("zero3"),
    ),
    Answer(
        "zero3",
        "gathered once and kept",
        "the gradients are right, but rank 0 of 2 once held 117 numbers; 72 are enough, 18 slices and 3 whole units: let a unit go after its forward, gather it again for its backward, and keep no view of a whole gradient",
        "梯度正确，但 2 个 rank 时 rank 0 一度持有 117 个数；72 个就够，即 18 段加 3 个完整单元：前向用完就释放，反向时再收集一次，也不要留着整个梯度的视图",
        text='''import torch

from zerolit.exercises.given import all_gather, cut, reduce_scatter


def gathered(rank, size, n, share):
    """The whole unit [n], of every rank's slice."""
    whole = torch.empty(n)
    cut(whole, size)[rank].copy_(share)
    yield from all_gather(rank, size, whole)
    return whole


def zero3(rank, size, n, shares, order, forward, backward):
    """The slices of the gradients, unit by unit; layer i uses order[i]."""
    held = {}
    for layer, unit in enumerate(order):
        whole = yield from gathered(rank, size, n, shares[unit])
        forward(layer, whole)
        held[unit] = whole
    kept = {}
    for layer, unit in reversed(list(enumerate(order))):
        gradient = backward(layer, held[unit])
        mine = yield from reduce_scatter(rank, size, gradient)
        kept[unit] = kept.get(unit, 0) + mine  # a new tensor, no view
        del gradient, mine
    return [kept[unit] for unit in sorted(kept)]
''',
    ),
    Answer(
        "zero3",
        "tied weights: the second use overwrites",
        "2 ranks, rank 0: unit 0 is used by two layers, and only one use is in its gradient; add both",
        "2 个 rank，rank 0：单元 0 被两层使用，梯度里却只有一次使用的贡献；两次要相加",
        old="kept.get(unit, 0) + mine  # a new tensor, no view",
        new="mine.clone()",
    ),
    Answer(
        "zero3",
        "views of whole gradients are kept",
        "the gradients are right, but rank 0 of 2 once held 93 numbers; 72 are enough, 18 slices and 3 whole units: let a unit go after its forward, gather it again for its backward, and keep no view of a whole gradient",
        "梯度正确，但 2 个 rank 时 rank 0 一度持有 93 个数；72 个就够，即 18 段加 3 个完整单元：前向用完就释放，反向时再收集一次，也不要留着整个梯度的视图",
        old="""        kept[unit] = kept.get(unit, 0) + mine  # a new tensor, no view
""",
        new="""        if unit in kept:
            kept[unit] += mine
        else:
            kept[unit] = mine
""",
    ),
    Answer(
        "zero3",
        "nothing is gathered",
        "2 ranks, rank 0: forward of layer 0 was given 3 of its 6 parameters; gather the whole unit",
        "2 个 rank，rank 0：第 0 层的 forward 只拿到 6 个参数中的 3 个；要先收集整个单元",
        old="""    whole = torch.empty(n)
    cut(whole, size)[rank].copy_(share)
    yield from all_gather(rank, size, whole)
    return whole
""",
        new="""    yield from ()
    return share
""",
    ),
    Answer(
        "zero3",
        "slices in the neighbour's place",
        "2 ranks, rank 0: forward of layer 0 was given other parameters than unit order[0] has; gather the slices of all ranks, each into its place",
        "2 个 rank，rank 0：第 0 层的 forward 拿到的不是单元 order[0] 的参数；要收集所有 rank 的段，并各放回原位",
        old="cut(whole, size)[rank].copy_",
        new="cut(whole, size)[rank - 1].copy_",
    ),
    Answer(
        "zero3",
        "backward from the first to the last",
        "2 ranks, rank 0: call 10 of 18 is missing, or out of turn: forward goes through all layers, then backward from the last to the first",
        "2 个 rank，rank 0：18 次调用中，第 10 次缺失或次序不对：前向依次经过各层，反向再从最后一层走回第一层",
        old="in reversed(list(enumerate(order))):",
        new="in enumerate(order):",
    ),
    Answer(
        "zero3",
        "no reduction",
        "2 ranks, rank 0: the gradient of unit 0 is this rank's own; sum it over the ranks",
        "2 个 rank，rank 0：单元 0 的梯度只是本 rank 自己的；要在各 rank 间求和",
        old="""        mine = yield from reduce_scatter(rank, size, gradient)
""",
        new="""        mine = cut(gradient, size)[rank]
""",
    ),
    Answer(
        "zero3",
        "the gradient goes to everybody",
        "the gradients are right, but 2 ranks send 216 numbers; 162 are enough: two gathers and one reduce-scatter for each layer",
        "梯度正确，但 2 个 rank 共发送 216 个数；162 个就够：每层两次收集、一次 reduce-scatter",
        old="""        mine = yield from reduce_scatter(rank, size, gradient)
""",
        new="""        mine = yield from reduce_scatter(rank, size, gradient)
        yield from all_gather(rank, size, gradient)
""",
    ),
    Answer(
        "zero3",
        "layers where units are meant",
        "2 ranks, rank 0: returned list (9), not a list of 8 slices",
        "2 个 rank，rank 0：返回了 list (9)，而不是 8 段组成的列表",
        old="    return [kept[unit] for unit in sorted(kept)]",
        new="    return list(kept.values()) + [kept[0]]",
    ),
]
