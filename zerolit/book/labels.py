"""The words in tables and figures, in both languages. Blocks are the same in both; these differ."""

LABELS: dict[str, tuple[str, str]] = {  # key: (English, Chinese)
    # columns
    "step": ("step", "步"),
    "phase": ("phase", "阶段"),
    "from": ("from card", "发送卡"),
    "to": ("to card", "接收卡"),
    "chunk": ("chunk", "块"),
    "values": ("what is in it", "内容"),
    "ranks": ("cards p", "卡数 p"),
    "ring sends": ("ring: each card sends", "环形：每张卡发出"),
    "ring steps": ("ring: steps", "环形：步数"),
    "server 0": ("server: card 0 sends + receives", "参数服务器：第 0 张卡收发合计"),
    "server others": ("server: every other card sends", "参数服务器：其余每张卡发出"),
    "compute": ("compute, s", "计算，秒"),
    "ring": ("ring, s", "环形，秒"),
    "server": ("server, s", "参数服务器，秒"),
    "no overlap": ("no overlap", "不重叠"),
    "backward overlap": ("under backward", "与反向重叠"),
    "perfect overlap": ("perfect overlap", "完全重叠"),
    "tokens per card": ("tokens per card", "每张卡的 token"),
    "goal": ("collective", "集合通信"),
    "proved for": ("proved for p", "已证明的 p"),
    "sent share": ("busiest card sends, p = 4", "最忙的卡发出，p = 4"),
    "bound share": ("lower bound", "下界"),
    "reached": ("bound reached", "达到下界"),
    "bytes": ("S, bytes", "S，字节"),
    "time us": ("time, µs", "时间，µs"),
    "algbw": ("algbw, GB/s", "algbw，GB/s"),
    "busbw": ("busbw, GB/s", "busbw，GB/s"),
    "source": ("where from", "来源"),
    # cells
    "reduce-scatter": ("reduce-scatter", "reduce-scatter"),
    "all-gather": ("all-gather", "all-gather"),
    "ring reduce_scatter": ("ring reduce-scatter", "环形 reduce-scatter"),
    "ring all_gather": ("ring all-gather", "环形 all-gather"),
    "ring all_reduce": ("ring all-reduce", "环形 all-reduce"),
    "server all_reduce": ("parameter server", "参数服务器"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "model": ("α–β model", "α–β 模型"),
    "measured": ("measured, nccl-tests", "实测，nccl-tests"),
    # words in figures
    "card": ("card", "卡"),
    "start": ("start", "开始"),
    "step n": ("step {n}", "第 {n} 步"),
    "reduce-scatter done": ("reduce-scatter done", "reduce-scatter 完成"),
    "all-gather done": ("all-gather done", "all-gather 完成"),
    "after n": ("after step {n}", "第 {n} 步后"),
    "number of cards": ("number of cards", "卡数"),
    "seconds per step": ("seconds per training step", "每个训练步的秒数"),
    "efficiency": ("efficiency", "效率"),
    "line compute": ("compute", "计算"),
    "line ring": ("ring", "环形"),
    "line server": ("parameter server", "参数服务器"),
    "line none": ("no overlap", "不重叠"),
    "line backward": ("hidden under the backward pass", "与反向传播重叠"),
    "line perfect": ("perfect overlap", "完全重叠"),
    "wall at": ("{ranks} cards", "{ranks} 张卡"),
    # columns and words of the chapters on training
    "training step": ("step", "训练步"),
    "gradient gap": ("gradients differ by", "梯度之差"),
    "single loss": ("loss, 1 card", "损失，1 张卡"),
    "mean loss": ("loss, {n} cards", "损失，{n} 张卡"),
    "parameter gap": ("parameters differ by", "参数之差"),
    "variant": ("training", "训练方式"),
    "gap first": ("after step 0", "第 0 步后"),
    "gap last": ("after step {last}", "第 {last} 步后"),
    "leads first": ("farthest at first", "起初差得最多的"),
    "leads last": ("farthest at the end", "最后差得最多的"),
    "adamw 32": ("AdamW, float32", "AdamW，float32"),
    "adamw 32 no bias": ("AdamW, float32, no q, k, v bias", "AdamW，float32，无 q、k、v 偏置"),
    "adamw 32 sums 64": (
        "the same, summed in float64",
        "同上，规约和更新用 float64",
    ),
    "adamw 64": ("AdamW, float64", "AdamW，float64"),
    "sgd 32": ("SGD, float32", "SGD，float32"),
    "loss": ("loss", "损失"),
    "largest difference": ("largest parameter difference", "参数的最大差"),
    "stage": ("stage", "阶段"),
    "stage 0": ("data parallel", "数据并行"),
    "stage 1": ("ZeRO-1", "ZeRO-1"),
    "stage 2": ("ZeRO-2", "ZeRO-2"),
    "stage 3": ("ZeRO-3", "ZeRO-3"),
    "differs": ("differs from data parallel by", "与数据并行之差"),
    "parameters": ("parameters", "参数"),
    "gradients": ("gradients", "梯度"),
    "optimizer": ("optimizer state", "优化器状态"),
    "gathered": ("gathered unit", "收集到的单元"),
    "stored": ("stored, ÷ Ψ", "存储量，÷ Ψ"),
    "stored formula": ("formula", "公式"),
    "sent": ("sent per step, ÷ Ψ", "每步发出，÷ Ψ"),
    "sent formula": ("formula", "公式"),
    "peak": ("peak, ÷ Ψ", "峰值，÷ Ψ"),
    "G 1": ("G = 1", "G = 1"),
    "G 4": ("G = 4", "G = 4"),
    "G formula": ("for any G", "任意 G"),
    "elements over psi": ("elements stored, ÷ Ψ", "存储的元素数，÷ Ψ"),
    "moments": ("moments of one step", "一步之内的各时刻"),
    # the chapter on the order of the sum
    "program": ("program", "程序"),
    "order": ("chunk 0 is summed as", "第 0 块的求和顺序"),
    "ring right": ("ring to the right", "向右的环"),
    "ring left": ("ring to the left, as gloo's", "向左的环（gloo 即如此）"),
    "tree": ("binomial tree", "二项树"),
    "halving": ("halving and doubling", "折半与倍增"),
    "differ 32": ("float32: elements that differ", "float32：不同的元素"),
    "ulps 32": ("float32: largest spread, ulps", "float32：最大差距，ulp"),
    "differ 16": ("bf16: elements that differ", "bf16：不同的元素"),
    "ulps 16": ("bf16: largest spread, ulps", "bf16：最大差距，ulp"),
    "relative error": ("mean relative error", "平均相对误差"),
    "table sum-orders": (
        "{p} ranks, each program run on symbols.",
        "{p} 个 rank，各程序在符号上运行。",
    ),
    "table sum-spread": (
        "The same random numbers, summed by every program that fits p; ulps of the largest addend.",
        "同样的随机数，由适用于该 p 的各程序求和；ulp 以最大的加数计。",
    ),
    "figure sum-bf16": (
        "Summing numbers between 0 and 1 in bf16: one after the other, or in pairs.",
        "用 bf16 对 0 到 1 之间的数求和：逐个相加，或两两相加。",
    ),
    "alt sum-bf16": (
        "Mean relative error from {first} to {last} cards; at {last} it is {ring:.1e} for the "
        "ring and {tree:.1e} for the tree.",
        "{first} 到 {last} 张卡的平均相对误差；{last} 张卡时，环形为 {ring:.1e}，树为 {tree:.1e}。",
    ),
    # the chapter on real processes
    "compared": ("compared", "比较的两方"),
    "apart": ("parameters differ by", "参数之差"),
    "theory": ("sent per step, ÷ Ψ, in theory", "每步发出，÷ Ψ：理论值"),
    "wire": ("by the algorithms", "按算法"),
    "written": ("written to sockets", "写入套接字"),
    "at rest": ("stored, ÷ Ψ", "存储量，÷ Ψ"),
    "first loss": ("loss, first step", "损失，首步"),
    "last loss": ("loss, last step", "损失，末步"),
    "table stock": (
        "PyTorch's own on {n} processes, {steps} steps, Ψ = {psi}; sent in the last one, ÷ Ψ.",
        "PyTorch 自带的训练，{n} 个进程，{steps} 步，Ψ = {psi}；发出量取最后一步，÷ Ψ。",
    ),
    "rank": ("rank {n}", "rank {n}"),
    "message": ("the rank's messages, one after the other", "该 rank 的消息，按先后排列"),
    "messages": ("messages of all ranks", "全部 rank 的消息数"),
    "elements each": ("elements each, up to", "每条元素数，至多"),
    "ms began": ("first begins, ms", "最早开始，毫秒"),
    "ms first ended": ("first rank done, ms", "最先完成，毫秒"),
    "ms last ended": ("last rank done, ms", "最后完成，毫秒"),
    "phase tokens": ("token counts", "token 计数"),
    "phase parameters": ("parameters", "参数"),
    "phase gradients": ("gradients", "梯度"),
    "phase loss": ("loss", "损失"),
    "table trace": (
        "A step of stage {stage} on {n} processes of this machine, measured.",
        "阶段 {stage} 的一步，本机 {n} 个进程，实测。",
    ),
    "figure real-order": (
        "The {messages} messages of a step, as each of {n} processes sent them; pale below them, "
        "as the simulator's rank did.",
        "一步中的 {messages} 条消息：{n} 个进程各自的发送次序；"
        "下方浅色为模拟器中同一 rank 的次序。",
    ),
    "alt real-order": (
        "{n} rows of coloured bars, {messages} in all, one per message, and below each row the "
        "same bars in pale: tokens, parameters, parameters and gradients in turn, loss.",
        "{n} 行色块，共 {messages} 个，一条消息一个；每行下方是相同的浅色色块：token 计数、参数、"
        "参数与梯度交替、损失。",
    ),
    "training": ("training", "训练方式"),
    "real stage 0": (
        "our data parallelism: processes, simulator",
        "我们的数据并行：真实进程与模拟器",
    ),
    "real stage 1": ("our ZeRO-1: processes, simulator", "我们的 ZeRO-1：真实进程与模拟器"),
    "real stage 2": ("our ZeRO-2: processes, simulator", "我们的 ZeRO-2：真实进程与模拟器"),
    "real stage 3": ("our ZeRO-3: processes, simulator", "我们的 ZeRO-3：真实进程与模拟器"),
    "real fsdp2": (
        "PyTorch's FSDP2, our simulated ZeRO-3 cut by rows",
        "PyTorch 的 FSDP2 与我们模拟的按行切分的 ZeRO-3",
    ),
    "real plugged": ("FSDP2, FSDP2 with our ring plugged in", "FSDP2 与接入我们的环的 FSDP2"),
    "real hooked": ("DDP, DDP with our ring as its hook", "DDP 与以我们的环为通信钩子的 DDP"),
    "real ours": ("PyTorch's DDP, our data parallelism", "PyTorch 的 DDP 与我们的数据并行"),
    "real zero": (
        "PyTorch's DDP, DDP with ZeroRedundancyOptimizer",
        "PyTorch 的 DDP 与 DDP 加 ZeroRedundancyOptimizer",
    ),
    "stock ddp": ("DDP", "DDP"),
    "stock ddp copies": (
        "DDP, gradient_as_bucket_view=False",
        "DDP，gradient_as_bucket_view=False",
    ),
    "stock ddp with ours": ("DDP with our ring", "接入我们的环的 DDP"),
    "stock hsdp": ("HSDP, two halves", "HSDP，分两半"),
    "stock zero": ("DDP + ZeroRedundancyOptimizer", "DDP + ZeroRedundancyOptimizer"),
    "stock fsdp2": ("FSDP2", "FSDP2"),
    "stock fsdp2 kept": (
        "FSDP2, reshard_after_forward=False",
        "FSDP2，reshard_after_forward=False",
    ),
    "stock fsdp2 with ours": ("FSDP2 with our ring", "接入我们的环的 FSDP2"),
    "4/p": ("4/p", "4/p"),
    "3(p-1)/p": ("3(p−1)/p", "3(p−1)/p"),
    "padding": ("padding", "填充"),
    "table real-scale": (
        "FSDP2 on a GPT of {psi} million parameters: one rank of p, in units of Ψ.",
        "FSDP2，{psi}M 参数的 GPT：p 个 rank 中的一个，以 Ψ 为单位。",
    ),
    "fault": ("rank 1", "rank 1"),
    "seen": ("another rank sees", "其余 rank 看到"),
    "seen closed": ("connection closed or reset", "连接被关闭或重置"),
    "seen timed out": ("timed out", "超时"),
    "seen aborted": ("nothing: gloo aborts its process", "什么也看不到：gloo 直接中止它的进程"),
    "seen None": ("nothing: all return", "什么也看不到：全部正常返回"),
    "told": ("our launcher says", "我们的启动器说"),
    "fault killed": ("is killed", "被杀"),
    "fault exits": ("exits", "退出"),
    "fault raises": ("raises", "抛出异常"),
    "fault returns early": ("returns early", "提前返回"),
    "killed in": ("rank 1 is killed in", "rank 1 在何处被杀"),
    "restart apart": ("restart differs by", "重启后的参数之差"),
    "where forward": ("the forward pass", "前向"),
    "where collective": ("a collective", "集合通信中"),
    "where optimizer": ("the update", "参数更新"),
    "where saving": ("saving a checkpoint", "保存检查点时"),
    "table restarts": (
        "ZeRO-2 on 3 processes, killed on the way from a checkpoint of step 2 to step 4.",
        "3 个进程上的 ZeRO-2，从第 2 步的检查点训练到第 4 步，途中被杀。",
    ),
    "fault hangs": ("hangs", "卡住"),
    "fault another shape": ("sums another shape", "对另一形状求和"),
    "fault another dtype": ("sums another dtype", "对另一 dtype 求和"),
    "fault another collective": ("calls another collective", "调用另一个集合通信"),
    "table faults": (
        "Two all-reduces on 3 processes; rank 1 commits the fault in the place of the second.",
        "3 个进程做两次 all-reduce；rank 1 的第二次换成所列的故障。",
    ),
    "table real-agreement": (
        "{steps} steps on {n} processes. 0 means: the same bits.",
        "{n} 个进程，{steps} 步。0 表示逐位相同。",
    ),
    "table real-wire": (
        "One step on {n} processes: sent per process on average, stored by the fullest.",
        "{n} 个进程的一步：发出量取各进程平均，存储量取最大的进程。",
    ),
    # the pages "Reproduce" and "Link to a section"
    "result": ("result", "结果"),
    "place": ("place", "位置"),
    "what": ("what", "情况"),
    "expected": ("expected", "参考值"),
    "got": ("got", "本次"),
    "tolerances off": ("tolerances off", "偏差（容差数）"),
    "value": ("value", "值"),
    "unit": ("unit", "单位"),
    "tolerance": ("tolerance", "容差"),
    "status": ("status", "状态"),
    "same": ("same", "一致"),
    "drifted": ("drifted", "有偏差"),
    "appeared": ("new", "新增"),
    "vanished": ("gone", "消失"),
    "status good": (
        "All {total} results are as the reference says.",
        "全部 {total} 个结果与参考值一致。",
    ),
    "status drift": (
        "{drift} of {total} results are not as the reference says:",
        "{total} 个结果中有 {drift} 个与参考值不一致：",
    ),
    "table drift": ("What drifted.", "有偏差的结果。"),
    "table environment": ("What this build ran on.", "本次构建的环境。"),
    "table results": ("{n} results.", "共 {n} 个结果。"),
    "table places": ("{n} places.", "共 {n} 处。"),
    "thing": ("component", "项目"),
    "version": ("version", "版本"),
    "Python": ("Python", "Python"),
    "numpy": ("numpy", "numpy"),
    "torch": ("torch", "torch"),
    "processor": ("processor", "处理器"),
    "system": ("system", "系统"),
    "commit": ("commit", "提交"),
    "kind": ("kind", "类别"),
    "section": ("section", "小节"),
    "table": ("table", "表"),
    "figure": ("figure", "图"),
    "markdown en": ("Markdown, English page", "Markdown，英文页"),
    "markdown zh": ("Markdown, Chinese page", "Markdown，中文页"),
    "restated": ("restated", "容差或单位改变"),
    "moved": ("This page has moved:", "本页已移至："),
    # captions
    "table ring-hops": (
        "Every hop of the ring: {p} cards, {n} numbers; card r starts with (r + 1) · [0, 1, 2, …].",
        "环形 all-reduce 的每一跳：{p} 张卡，{n} 个数；第 r 张卡的初值是 (r + 1) · [0, 1, 2, …]。",
    ),
    "table ring-proofs": (
        "Each program run on multisets of cards. Shares of the array are exact fractions.",
        "每个程序都在“卡的多重集”上运行。占数组的比例是精确分数。",
    ),
    "table traffic-counted": (
        "Elements on the wire for one all-reduce of {n} numbers, counted.",
        "对 {n} 个数做一次 all-reduce 时链路上传输的元素个数（实际计数）。",
    ),
    "table traffic-time": (
        "One training step, by the α–β model: {params} parameters, {tokens} tokens, "
        "{bandwidth} GB/s and {latency} µs per link. The last three columns are efficiencies.",
        "一个训练步的时间（α–β 模型）：{params} 参数，{tokens} token，"
        "每条链路 {bandwidth} GB/s、{latency} µs。后三列是效率。",
    ),
    "table traffic-busbw": (
        "algbw and busbw of an all-reduce. The model's links carry {bandwidth} GB/s.",
        "一次 all-reduce 的 algbw 与 busbw。模型中每条链路为 {bandwidth} GB/s。",
    ),
    "figure ring-steps": (
        "Rows are cards, columns are chunks. A stripe in a card's colour means: that card's share "
        "is in this chunk. Outlined: what has just arrived.",
        "行是卡，列是块。某种颜色的竖条表示：该卡的那一份已加进这一块。描边的是刚到达的块。",
    ),
    "figure home-discs": (
        "Ring all-reduce on {p} cards. A circle of cells is a card, a sector is a chunk; the "
        "stronger the colour, the more cards' shares are in it.",
        "{p} 张卡的环形 all-reduce。一圈格子是一张卡，一个扇区是一块；颜色越浓，"
        "其中已加进的卡越多。",
    ),
    "figure traffic-time-curve": (
        "Compute per card shrinks with p, the ring's time does not, the server's grows.",
        "每张卡的计算随 p 缩短，环形的时间不缩短，参数服务器的时间不断增长。",
    ),
    "figure traffic-efficiency": (
        "Overlap moves the wall; it does not remove it. Dots mark where communication and what "
        "can hide it take equally long.",
        "重叠能把墙推远，但拆不掉它。圆点处，通信与能掩盖它的计算一样长。",
    ),
    "table batch-steps": (
        "{n} cards with a share of each batch, beside one card with all of it.",
        "{n} 张卡各分一份 batch，与一张卡处理整个 batch 对照。",
    ),
    "table batch-leaders": (
        "How far {n} cards and one are apart, and which parameter is farthest.",
        "{n} 张卡与一张卡相差多少，差得最远的是哪个参数。",
    ),
    "table zero-stages": (
        "{steps} steps on {n} cards; Ψ = {psi}. Stored is counted after the update, before the "
        "gradients are released.",
        "{n} 张卡上训练 {steps} 步；Ψ = {psi}。存储量在更新之后、释放梯度之前计数。",
    ),
    "table zero-accumulation": (
        "Traffic of one step with G micro-batches, in units of (p−1)/p · Ψ, counted on {n} cards.",
        "每步 G 个微批次时的通信量，以 (p−1)/p · Ψ 为单位，在 {n} 张卡上实际计数。",
    ),
    "figure batch-curves": (
        "Left: both losses, one on top of the other. Right: how far the parameters are apart.",
        "左：两条损失曲线重合。右：参数相差多少。",
    ),
    "figure zero-stored": (
        "What one of {n} cards stores after the update, before gradients are released, by kind.",
        "{n} 张卡时，每张卡在更新之后、释放梯度之前存储的各类内容。",
    ),
    "figure zero-moments": (
        "What one card holds, moment by moment, in one training step.",
        "一个训练步之内，一张卡在各时刻持有的内容。",
    ),
    "figure zero-ranks": (
        "Stored per card against the number of cards: lines are the formulas, dots were counted.",
        "每张卡的存储量随卡数的变化：线是公式，点是实际计数。",
    ),
    # text alternatives, filled from the data
    "alt batch-curves": (
        "Loss from {l0:.2f} to {l1:.2f} for one card and for {n}; the largest parameter difference "
        "goes from {d0:.0e} to {d1:.0e} with AdamW in float32 and from {e0:.0e} to {e1:.0e} in "
        "float64.",
        "1 张卡与 {n} 张卡的损失都从 {l0:.2f} 降到 {l1:.2f}；参数的最大差在 float32 的 "
        "AdamW 下从 {d0:.0e} 到 {d1:.0e}，在 float64 下从 {e0:.0e} 到 {e1:.0e}。",
    ),
    "alt zero-stored": (
        "Stacked bars, in units of Ψ: {totals} for stages 0 to 3.",
        "堆叠柱，以 Ψ 为单位：阶段 0 到 3 依次为 {totals}。",
    ),
    "alt zero-moments": (
        "Four step curves of the elements held; their peaks, in units of Ψ: {peaks}.",
        "四条阶梯曲线，表示持有的元素数；以 Ψ 为单位的峰值依次为 {peaks}。",
    ),
    "alt zero-ranks": (
        "Stored in units of Ψ from {first} to {last} cards; at {last} cards: {totals}.",
        "{first} 到 {last} 张卡的存储量，以 Ψ 为单位；{last} 张卡时依次为 {totals}。",
    ),
    "alt ring-steps": (
        "{panels} panels of {ranks} by {ranks} cells. At the start each cell holds 1 card's share; "
        "after step {half} one cell per card holds {ranks}; after step {steps} all do.",
        "{panels} 幅 {ranks}×{ranks} 的格子图。开始时每格只含 1 张卡的一份；第 {half} 步后"
        "每张卡有一格含 {ranks} 份；第 {steps} 步后所有格子都含 {ranks} 份。",
    ),
    "alt home-discs": (
        "{panels} discs of {p} by {p} cells, after steps {steps}. The mean number of cards' shares "
        "per cell is {means}.",
        "{panels} 个 {p}×{p} 格的圆盘，分别在第 {steps} 步之后。每格平均含 {means} 张卡的数据。",
    ),
    "alt traffic-time-curve": (
        "Log-log lines from {first} to {last} cards: compute from {c0:.3g} to {c1:.3g} s, ring "
        "from {r0:.3g} to {r1:.3g} s, parameter server from {s0:.3g} to {s1:.3g} s.",
        "双对数曲线，{first} 到 {last} 张卡：计算从 {c0:.3g} 到 {c1:.3g} 秒，"
        "环形从 {r0:.3g} 到 {r1:.3g} 秒，参数服务器从 {s0:.3g} 到 {s1:.3g} 秒。",
    ),
    "alt traffic-efficiency": (
        "Efficiency from {first} to {last} cards: without overlap from {n0:.0%} to {n1:.0%}, "
        "hidden under the backward pass from {b0:.0%} to {b1:.0%}, with perfect overlap from "
        "{o0:.0%} to {o1:.0%}.",
        "{first} 到 {last} 张卡的效率：不重叠从 {n0:.0%} 到 {n1:.0%}，"
        "与反向传播重叠从 {b0:.0%} 到 {b1:.0%}，完全重叠从 {o0:.0%} 到 {o1:.0%}。",
    ),
}

UNITS = {  # of a table's columns, for the ledger
    "compute": "s",
    "ring": "s",
    "server": "s",
    "bytes": "bytes",
    "time us": "µs",
    "algbw": "GB/s",
    "busbw": "GB/s",
    "ring sends": "elements",
    "server 0": "elements",
    "server others": "elements",
    "tokens per card": "tokens",
    "stored": "Ψ elements",
    "sent": "Ψ elements",
    "peak": "Ψ elements",
    "G 1": "(p-1)/p·Ψ elements",
    "G 4": "(p-1)/p·Ψ elements",
}


def label(key: str, language: str, **facts: object) -> str:
    """The words for `key`, with `facts` filled in.

    Raises:
        KeyError: a key that the dictionary lacks.
    """
    english, chinese = LABELS[key]
    return (chinese if language == "zh" else english).format(**facts)
