"""What is said of each of the changes in `wrong`, in both languages."""
# ruff: noqa: E501

SENTENCES = {
    "unmarked": (
        "unmarked",
        "program is no rank program: mark a function by @collective(goal, pieces=…)",
        "program 不是 rank 程序：请用 @collective(goal, pieces=…) 标记一个函数",
    ),
    "pieces": (
        "pieces",
        "pieces(3) is 1.5; it must be the number of chunks, 1 to 3000",
        "pieces(3) 的值是 1.5；它应是块数，1 到 3000",
    ),
    "start": (
        "start",
        "at the start 0 ranks hold chunk 3; exactly one rank must hold it",
        "开始时有 0 个 rank 持有第 3 块；每一块应当恰好由一个 rank 持有",
    ),
    "signature": (
        "signature",
        "the program cannot be called: TypeError: too many positional arguments; a rank program takes "
        "(rank, size, x)",
        "程序无法调用：TypeError: too many positional arguments；rank 程序的参数是 (rank, size, x)",
    ),
    "no_generator": (
        "no_generator",
        "the program returns None and has no yield; a rank program says `yield Swap(…)` "
        "wherever it sends or receives",
        "程序返回了 None，其中没有 yield；rank 程序在收发消息处都要写 `yield Swap(…)`",
    ),
    "no_swap": (
        "no_swap",
        "rank 0, step 1, line 6: yields (…); a rank program may only yield Swap(…), and calls "
        "another one by `yield from`",
        "rank 0，第 1 步，第 6 行：yield 了 (…)；rank 程序只能 yield Swap(…)，调用另一个程序要写 `yield from`",
    ),
    "root": (
        "root",
        "root is 3, but ranks are 0 to 2",
        "root 是 3，而编号只有 0 到 2",
    ),
    "holds": (
        "holds",
        "the chunks with which a rank starts cannot be told: ZeroDivisionError: division by zero",
        "无法得知各 rank 开始时持有哪些块：ZeroDivisionError: division by zero",
    ),
    "half_a_rank": (
        "no_rank",
        "rank 0, step 1, line 6: names rank 0.5, but ranks are 0 to 2",
        "rank 0，第 1 步，第 6 行：收发对象是 rank 0.5，而编号只有 0 到 2",
    ),
    "itself": (
        "itself",
        "rank 0, step 1, line 6: sends to itself or waits for itself; a message goes to "
        "another rank",
        "rank 0，第 1 步，第 6 行：收发对象是它自己；消息只能发给别的 rank",
    ),
    "no_rank": (
        "no_rank",
        "rank 2, step 1, line 6: names rank 3, but ranks are 0 to 2; is `% size` missing?",
        "rank 2，第 1 步，第 6 行：收发对象是 rank 3，而编号只有 0 到 2；是否漏了 `% size`？",
    ),
    "minus_one": (
        "no_rank",
        "rank 0, step 1, line 6: names rank -1, but ranks are 0 to 2; is `% size` missing?",
        "rank 0，第 1 步，第 6 行：收发对象是 rank -1，而编号只有 0 到 2；是否漏了 `% size`？",
    ),
    "empty": (
        "empty",
        "rank 0, step 1, line 6: yields a swap that neither sends nor receives; give it to=, "
        "frm= or both",
        "rank 0，第 1 步，第 6 行：yield 的 Swap 既不发也不收；请给出 to=、frm= 或两者",
    ),
    "payload": (
        "payload",
        "rank 0, step 1, line 6: sends x; a message is a chunk x[c], or consecutive chunks x[a:b]",
        "rank 0，第 1 步，第 6 行：发送的是 x；一条消息是一个块 x[c]，或连续的几块 x[a:b]",
    ),
    "a_list": (
        "payload",
        "rank 0, step 1, line 6: sends […]; a message is a chunk x[c], or consecutive chunks "
        "x[a:b]",
        "rank 0，第 1 步，第 6 行：发送的是 […]；一条消息是一个块 x[c]，或连续的几块 x[a:b]",
    ),
    "every_other": (
        "payload",
        "rank 0, step 1, line 6: sends chunks 0, 2; a message is a chunk x[c], or "
        "consecutive chunks x[a:b]",
        "rank 0，第 1 步，第 6 行：发送的是 chunks 0, 2；一条消息是一个块 "
        "x[c]，或连续的几块 x[a:b]",
    ),
    "like": (
        "like",
        "rank 0, step 1, line 6: waits for something like None; like= must be the chunk "
        "x[c], or the chunks x[a:b], that the message has to fit",
        "rank 0，第 1 步，第 6 行：等待的消息由 like=None 描述；like= "
        "应是与消息形状相同的块 x[c] 或 x[a:b]",
    ),
    "arithmetic": (
        "arithmetic",
        "rank 0, step 1, line 7: uses / on a chunk; chunks may be added to each other, "
        "stored and sent, and nothing else",
        "rank 0，第 1 步，第 7 行：对块用了 /；块只能相加、存放和发送",
    ),
    "compare": (
        "arithmetic",
        "rank 0, step 1, line 7: uses > on a chunk; chunks may be added to each other, "
        "stored and sent, and nothing else",
        "rank 0，第 1 步，第 7 行：对块用了 >；块只能相加、存放和发送",
    ),
    "look_into": (
        "arithmetic",
        "rank 0, step 1, line 7: uses […] on a chunk; chunks may be added to each other, "
        "stored and sent, and nothing else",
        "rank 0，第 1 步，第 7 行：对块用了 […]；块只能相加、存放和发送",
    ),
    "operand": (
        "operand",
        "rank 0, step 1, line 7: adds 0.3333333333333333 to a chunk; only chunks can be "
        "added to it",
        "rank 0，第 1 步，第 7 行：把 0.3333333333333333 加到块上；只有块才能与块相加",
    ),
    "nothing": (
        "nothing",
        "rank 0, step 1, line 5: uses what arrived, but nothing was asked for: this swap has "
        "no frm=",
        "rank 0，第 1 步，第 5 行：使用了收到的内容，但它并没有要求接收：这个 Swap 没有 frm=",
    ),
    "stored": (
        "stored",
        "rank 0, step 1, line 7: puts 0 into x; only a chunk may be put there",
        "rank 0，第 1 步，第 7 行：把 0 放进 x；那里只能放块",
    ),
    "index": (
        "index",
        "rank 0, step 1, line 7: uses chunk 3 of x, which has the chunks 0 to 2",
        "rank 0，第 1 步，第 7 行：用到 x 的第 3 块，而 x 只有第 0 到 2 块",
    ),
    "forged": (
        "forged",
        "rank 0, step 1, line 7: makes a chunk by hand; chunks come from x and from messages only",
        "rank 0，第 1 步，第 7 行：自己造了一个块；块只能来自 x 和收到的消息",
    ),
    "foreign": (
        "foreign",
        "rank 2, step 1, line 8: uses a chunk of rank 0 that no message has brought: only "
        "messages move chunks, not globals and not closures",
        "rank 2，第 1 步，第 8 行：用了 rank 0 的块，而没有消息把它送来：块只能"
        "靠消息传递，不能靠全局变量或闭包",
    ),
    "list": (
        "list",
        "rank 1, step 1, line 8: reaches into the list x of rank 0; a program may only use its own",
        "rank 1，第 1 步，第 8 行：动用了 rank 0 的列表 x；每个 rank 只能用自己的",
    ),
    "changed": (
        "changed",
        "rank 0, step 1, line 7: changes a chunk from within (ranks); chunks may only be "
        "added, stored and sent",
        "rank 0，第 1 步，第 7 行：从内部改动了块（ranks）；块只能相加、存放和发送",
    ),
    "exception": (
        "exception",
        "rank 0, step 1, line 7: the program fails: NameError: name 'recieve' is not defined",
        "rank 0，第 1 步，第 7 行：程序出错：NameError: name 'recieve' is not defined",
    ),
    "returned": (
        "returned",
        "rank 0 returns None; a reduce-scatter returns the chunk that the rank owns, one of "
        "0 to 2, or a list of them",
        "rank 0 返回了 None；reduce-scatter 应返回该 rank 持有的块号（0 到 2），或块号的列表",
    ),
    "owners": (
        "owners",
        "chunk 0 is owned by no rank at the end; exactly one rank must return it",
        "结束时持有第 0 块的：无；每一块应当恰好由一个 rank 返回",
    ),
    "twice": (
        "twice",
        "first wrong hop: step 3, rank 2 → rank 0, chunk 0; on rank 0, chunk 0: rank 0 is in "
        "it twice (line 6)",
        "第一处出错的传输：第 3 步，rank 2 → rank 0，第 0 块；rank 0 的"
        "第 0 块：rank 0 被算了两次（第 6 行）",
    ),
    "mixed": (
        "mixed",
        "first wrong hop: step 1, rank 2 → rank 0, chunk 0; on rank 0, chunk 0: another "
        "chunk was put into it (line 6)",
        "第一处出错的传输：第 1 步，rank 2 → rank 0，第 0 块；rank 0 的"
        "第 0 块：放进了别的块（第 6 行）",
    ),
    "junk": (
        "junk",
        "first wrong hop: step 1, rank 2 → rank 0, chunk 2; on rank 0, chunk 2: added to "
        "what was there before, which is nobody's share (line 6)",
        "第一处出错的传输：第 1 步，rank 2 → rank 0，第 2 块；rank 0 的"
        "第 2 块：加到了原有的内容上，而那不是任何 rank 的数据（第 6 行）",
    ),
    "lost": (
        "lost",
        "first wrong hop: step 1, rank 2 → rank 0, chunk 2; on rank 0, chunk 2: rank 0 is no "
        "longer in it (line 6)",
        "第一处出错的传输：第 1 步，rank 2 → rank 0，第 2 块；rank 0 的"
        "第 2 块：rank 0 的那一份丢了（第 6 行）",
    ),
    "early": (
        "early",
        "first wrong hop: step 2, rank 1 → rank 2, chunk 0; it leaves without rank 0, which "
        "rank 1 had for chunk 0 (line 7)",
        "第一处出错的传输：第 2 步，rank 1 → rank 2，第 0 块；发出时缺了 ra"
        "nk 0 的那一份，而 rank 1 已经有第 0 块的这一份（第 7 行）",
    ),
    "dropped": (
        "dropped",
        "first wrong hop: step 1, rank 2 → rank 0, chunk 2; rank 0 does nothing with what "
        "arrived, and chunk 2 ends without rank 2 (line 6)",
        "第一处出错的传输：第 1 步，rank 2 → rank 0，第 2 块；rank 0 没"
        "有用收到的内容，第 2 块最后缺 rank 2（第 6 行）",
    ),
    "never": (
        "never",
        "rank 0 stops after step 3; chunk 2 of rank 0 still lacks rank 1, which rank 2 "
        "holds: the hop rank 2 → rank 0 never came",
        "rank 0 在第 3 步之后就结束了；它的第 2 块还缺 rank 1，而 rank 2"
        " 有它：rank 2 → rank 0 的传输没有发生",
    ),
    "uneven": (
        "uneven",
        "step 1, rank 2 → rank 0: rank 0 expects a message like chunk 0, but chunk 2 "
        "arrives; where p does not divide the length, the two differ in size",
        "第 1 步，rank 2 → rank 0：rank 0 期待的消息与第 0 块同形，收到"
        "的却是第 2 块；长度不能被 p 整除时，两块大小不同",
    ),
    "stuck": (
        "stuck",
        "nothing can move in step 2: rank 0 waits for rank 1; rank 1 offers chunk 0 to rank "
        "2 and waits for rank 0; rank 2 offers chunk 2 to rank 0; first out of turn: rank 0 "
        "in step 1 (line 6)",
        "第 2 步什么也动不了：rank 0 在等 rank 1；rank 1 要把第 0 块发给 rank 2，在等 rank 0；rank 2 要把第 2 块发给 "
        "rank 0；最先不合拍的是第 1 步的 rank 0（第 6 行）",
    ),
    "alike": (
        "stuck",
        "nothing can move in step 1: rank 0 offers chunk 0 to rank 1; rank 1 offers chunk 1 "
        "to rank 2; rank 2 offers chunk 2 to rank 0; all ranks do the same, and so each "
        "waits for another",
        "第 1 步什么也动不了：rank 0 要把第 0 块发给 rank 1；rank 1 要把第 1 块发给 rank 2；rank 2 要把第 2 块发给 rank "
        "0；所有 rank 做法相同，于是都在互相等待",
    ),
    "ended": (
        "stuck",
        "nothing can move in step 5: rank 0 waits for rank 2; rank 1 offers chunk 1 to rank "
        "2; finished: rank 2; first out of turn: rank 2 in step 4 (line 6)",
        "第 5 步什么也动不了：rank 0 在等 rank 2；rank 1 要把第 1 块发给 rank 2；已结束：rank 2；最先不合拍的是第 4 步的 rank "
        "2（第 6 行）",
    ),
    "misfit": (
        "misfit",
        "step 1: rank 0 sends chunk 0 in phase 'part 0' to rank 1, which expects 1 chunk in "
        "phase 'part 1' (line 6)",
        "第 1 步：rank 0 把第 0 块（环节 'part 0'）发给 rank 1，后者期"
        "待的是 1 块（环节 'part 1'）（第 6 行）",
    ),
    "budget": (
        "budget",
        "stopped in step 67 after 198 messages, far more than 3 ranks need",
        "已在第 67 步停止：198 条消息远多于 3 个 rank 所需",
    ),
}
