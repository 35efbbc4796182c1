"""The words of the built-in verse, all of our own choosing: by theme, by the tone that a word ends in, and by rhyme.

Tones are those of today's Mandarin: the first and the second are level, the third and the fourth oblique. A word's tone
is that of its last character.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Theme:
    """What a poem is about.

    Attributes:
        level: things of two characters that end in a level tone.
        oblique: things of two characters that end in an oblique tone.
        verbs: what one thing does to another, one character.
    """

    level: tuple[str, ...]
    oblique: tuple[str, ...]
    verbs: str


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


THEMES: Mapping[str, Theme] = {
    "春": Theme(
        _words("东风 春风 桃花 梨花 黄莺 垂杨 新芽 青苔 春泥 游丝 群芳 春光"),
        _words("细雨 飞絮 新柳 芳草 紫燕 绿野 桃李 碧草 杏雨 暖日 嫩蕊 春色"),
        "绿红染吹醉绽",
    ),
    "秋": Theme(
        _words("西风 秋风 寒蝉 芦花 梧桐 霜林 黄花 秋霜 残荷 秋光 枯藤 丹枫"),
        _words("落叶 冷露 白露 断雁 衰草 暮雨 桂影 秋意 败柳 瘦影 晚照 败叶"),
        "老瘦冷凋落残",
    ),
    "江": Theme(
        _words("渔舟 江风 鸥群 兰舟 云帆 归潮 渔歌 沧波 芦丛 江花 长流 孤篷"),
        _words("野渡 远浦 短棹 细浪 白鹭 春水 流水 钓叟 雪浪 浅渚 断岸 江月"),
        "渡泛溯逐浮涌",
    ),
    "山": Theme(
        _words("松风 孤云 山泉 樵歌 幽禽 晨钟 苍松 飞泉 悬崖 青峰 岚光 山花"),
        _words("古寺 石径 野鹤 涧水 松影 翠岭 暮霭 瀑布 乱壑 鸟语 峭壁 古木"),
        "绕藏隐叠掩锁",
    ),
    "夜": Theme(
        _words("残灯 疏钟 清光 银河 箫声 更声 寒灯 清宵 长宵 星河 琴声 清辉"),
        _words("明月 玉漏 残梦 孤枕 烛影 夜雨 晓角 静夜 旧梦 醉梦 冷月 漏鼓"),
        "照惊映梦悄寂",
    ),
}

MODIFIERS_LEVEL = _words("今宵 年年 当时 谁家 依然 无端 三更 何妨 归来 多年 从前 千山")
MODIFIERS_OBLIQUE = _words("昨夜 几度 又是 何处 一片 数点 却看 回首 此夜 万里 往事 两岸")
PERSON_VERBS = "忆望听问寻惜倚梦"

# By the final of the last character, in pinyin; all end in a level tone.
RHYMES: Mapping[str, tuple[str, ...]] = {
    "ang": _words("芬芳 池塘 柔肠 海棠 远方 斜廊 回廊 微茫 苍苍 归航 空房 画廊 横塘 离觞 雁行 短章"),
    "an": _words("青山 远山 春寒 轻寒 幽兰 归帆 孤帆 花残 平安 朱栏 夜阑 沙滩 青衫 关山 波澜 衣单"),
    "ian": _words("云天 寒烟 轻烟 天边 江边 楼前 灯前 当年 华年 流年 无眠 孤眠 红莲 珠帘 朱颜 无言"),
    "ing": _words("山青 柳青 多情 深情 疏星 繁星 沙汀 长亭 浮萍 虫鸣 天明 月明 流莺 新晴 风清 画屏"),
    "ou": _words("高楼 西楼 小楼 离愁 春愁 孤舟 扁舟 归舟 渡头 枝头 雨收 沧洲 汀洲 银钩 白头 温柔"),
    "i": _words("柳低 月低 清溪 小溪 桥西 楼西 别离 迷离 凄迷 罗衣 征衣 莺啼 鸟啼 归期 佳期 长堤"),
    "ong": _words("山中 烟中 长空 晴空 残红 飞鸿 江东 桥东 花丛 香浓 冰融 帘栊 梦中 匆匆 朦胧 灯红"),
}
